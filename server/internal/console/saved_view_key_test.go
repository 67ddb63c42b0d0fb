package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/client"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestPrivateViewsOfNamesakes proves by HTTP on both databases that a private view is seen by
// its key alone, not by another key of the same name, and that a rotated key has it still.
func TestPrivateViewsOfNamesakes(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) live.Database{"sqlite": live.SQLite, "postgres": live.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := live.Start(t, app.Options{Database: database(t).Nodes})
			admin := n.Client()
			first, err := adminapi.New(admin).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "operator"})
			if err != nil {
				t.Fatal(err)
			}
			namesake, err := adminapi.New(admin).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "operator"})
			if err != nil {
				t.Fatal(err)
			}
			own, other := n.As(client.Options{Key: first.Secret}), n.As(client.Options{Key: namesake.Secret})
			made, err := adminapi.New(own).Views.Add(t.Context(), wire.NewView{Name: "salaries", Tokens: []string{"state:PARKED"}})
			if err != nil || made.Owner != "ada" {
				t.Fatal(made, err)
			}
			if page, err := adminapi.New(other).Views.List(t.Context(), client.Page{}); err != nil || len(page.Views) > 0 {
				t.Errorf("the namesake sees %v: %v", page.Views, err)
			}
			if _, err := adminapi.New(other).Views.Delete(t.Context(), made.ID); err == nil {
				t.Error("the namesake deletes it")
			}
			v := visit(t, n)
			v.signIn(namesake.Secret)
			if p := v.get("errors"); p.status != http.StatusOK || strings.Contains(p.body, "salaries") {
				t.Errorf("the page of the namesake has the status %d, or shows the view", p.status)
			}
			next, err := adminapi.New(admin).Keys.Rotate(t.Context(), first.ID, wire.KeyRotation{})
			if err != nil {
				t.Fatal(err)
			}
			w := visit(t, n)
			in := w.signIn(next.Secret)
			w.get("errors").has(t, "salaries")
			w.send(in, "views/"+made.ID.String()+"/delete", url.Values{})
			if page, err := adminapi.New(own).Views.List(t.Context(), client.Page{}); err != nil || len(page.Views) > 0 {
				t.Errorf("once the rotated key has deleted it, the old one sees %v: %v", page.Views, err)
			}
		})
	}
}
