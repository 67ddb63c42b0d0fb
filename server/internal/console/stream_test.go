package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/client"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// openStream opens the stream of a visitor's session, and returns what it says from its first
// event to its end.
func (v *visitor) openStream() <-chan string {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	v.t.Cleanup(cancel)
	r := v.request(http.MethodGet, "stream", nil).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := v.http.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		v.t.Fatal(answer, err)
	}
	lines := bufio.NewScanner(answer.Body)
	if !lines.Scan() || lines.Text() != "event: hello" {
		v.t.Fatalf("a stream begins with %q: %v", lines.Text(), lines.Err())
	}
	said := make(chan string, 1)
	go func() {
		defer func() { _ = answer.Body.Close() }()
		var all strings.Builder
		for lines.Scan() {
			all.WriteString(lines.Text() + "\n")
		}
		if ctx.Err() != nil {
			all.WriteString("(it did not end)")
		}
		said <- all.String()
	}()
	return said
}

// TestStreamEndsWithItsSession proves that a stream ends when its session or its key does, also
// when that happened on another node.
func TestStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	d := live.Postgres(t)
	first := live.Start(t, app.Options{Database: d.Nodes})
	second := live.Start(t, app.Options{Database: d.Nodes})
	const byKey, bySession = "the key was revoked or has expired", "event: signed-out"
	admin := func(n *live.Node) *client.Client { return n.As(client.Options{Key: first.Key}) }
	for name, row := range map[string]struct {
		end  func(v *visitor, n *live.Node, key wire.Key) error
		says string
	}{
		"signed out": {func(v *visitor, _ *live.Node, _ wire.Key) error {
			v.send(v.get("park"), "sign-out", url.Values{})
			return nil
		}, bySession},
		"signed in too often": {func(v *visitor, _ *live.Node, key wire.Key) error {
			v.http.Jar = nil // other browsers
			v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			for made, tries := 0, 0; made < store.MaxSessions && tries < 200; tries++ {
				if v.signIn(key.Secret).status == http.StatusSeeOther { // a busy machine refuses some
					made++
				}
			}
			return nil
		}, bySession},
		"key revoked": {func(_ *visitor, n *live.Node, key wire.Key) error {
			_, err := adminapi.New(admin(n)).Keys.Revoke(context.Background(), key.ID, "she left")
			return err
		}, byKey},
		"key rotated away": {func(_ *visitor, n *live.Node, key wire.Key) error {
			_, err := adminapi.New(admin(n)).Keys.Rotate(context.Background(), key.ID, wire.KeyRotation{Hours: new(int)})
			return err
		}, byKey},
	} {
		for where, n := range map[string]*live.Node{"here": first, "elsewhere": second} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				made, err := adminapi.New(admin(first)).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "operator"})
				if err != nil {
					t.Fatal(err)
				}
				v := visit(t, first)
				v.signIn(made.Secret)
				said := v.openStream()
				there := visit(t, n) // the same browser, at a node
				there.http.Jar = v.http.Jar
				if err := row.end(there, n, made); err != nil {
					t.Fatal(err)
				}
				if got := <-said; !strings.Contains(got, row.says) {
					t.Errorf("the stream says %q at its end, want %q", got, row.says)
				}
			})
		}
	}
}
