package define_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
)

// TestNamesWithQuotationMarks has another user create a schema whose name is that of shop with
// quotation marks around it. A quoted name is read as SQL; one that has two readings is refused.
func TestNamesWithQuotationMarks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	const quoted = `"shop".failures`
	plan := func(name string) (string, error) {
		p, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: name, As: "shop.errors"})
		if err != nil {
			return "", err
		}
		return p.Source, nil
	}
	if got, err := plan(quoted); err != nil || got != "shop.failures" {
		t.Errorf("one reading: %s, %v", got, err)
	}
	w.exec(`create schema """shop"""; create table """shop""".failures (id int primary key, order_id text); create table """shop""".alone (id int primary key, order_id text)`)
	if got, err := plan(quoted); err == nil || !strings.Contains(err.Error(), `"""shop""".failures`) || !strings.Contains(err.Error(), "shop.failures") {
		t.Errorf("two readings: %s, %v", got, err)
	}
	for name, want := range map[string]string{"shop.failures": "shop.failures", `"""shop""".failures`: `"""shop""".failures`, `"shop".alone`: `"""shop""".alone`} {
		if got, err := plan(name); err != nil || got != want {
			t.Errorf("%s is read as %s, %v", name, got, err)
		}
	}
}
