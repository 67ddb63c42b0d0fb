package endtoend

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
)

// The two forms in which Unicode writes the same word.
const (
	composed   = "Caf\u00e9"
	decomposed = "Cafe\u0301"
)

// TestEntityHasNoTwin blocks an entity in one form of Unicode and asks for it in the
// other, through every way in: the gate, a promotion, a filter, the bulk call, staged
// work and plain SQL.
func TestEntityHasNoTwin(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		n := startNode(t, d)
		c := &caller{T: t, node: n, key: n.Key}
		for i, forms := range [][2]string{{decomposed, composed}, {composed, decomposed}} {
			sent, asked := fmt.Sprintf("%s-%d", forms[0], i), fmt.Sprintf("%s-%d", forms[1], i)
			kept := fmt.Sprintf("%s-%d", composed, i)
			var made struct{ Error recoup.Error }
			c.made("/v1/errors", reportOf(sent), &made)
			if made.Error.EntityID != kept {
				t.Errorf("%+q is kept as %+q", sent, made.Error.EntityID)
			}
			c.blocked(asked)
			var list struct{ Errors []recoup.Error }
			if c.read("/v1/errors?entity_id="+url.QueryEscape(asked), &list); len(list.Errors) != 1 {
				t.Errorf("the filter finds %d errors of %+q", len(list.Errors), asked)
			}
			if got := c.send(http.MethodPost, "/v1/errors", nil, []byte(reportOf(asked))); !strings.Contains(got.text, `"superseded"`) && !strings.Contains(got.text, made.Error.ID.String()) {
				t.Errorf("a report of %+q does not meet the open error of %+q: %s", asked, sent, got.body)
			}
		}
		got := c.send(http.MethodPost, "/v1/errors/batch", nil, fmt.Appendf(nil, `{"reports": [%s]}`, reportOf(decomposed+"-bulk")))
		if got.status >= http.StatusMultipleChoices {
			t.Fatalf("bulk: %s", got.body)
		}
		c.blocked(composed + "-bulk")
		c.refusesTwins()
		if d.Kind == "postgres" {
			c.plainTwins(plainly(t, d))
		}
	})
}

func reportOf(entity string) string {
	return fmt.Sprintf(`{"table": "outreach.dol_errors", "entity_id": %q, "code": "NETWORK_TIMEOUT", "message": "late"}`, entity)
}

// blocked holds the gate of an entity to be closed, however it is asked.
func (c *caller) blocked(entity string) {
	var gate recoup.PromotionStatus
	if c.read("/v1/promotion/"+url.PathEscape(entity), &gate); !gate.Blocked {
		c.Errorf("the gate of %+q is open", entity)
	}
	got := c.send(http.MethodPost, "/v1/promotions", nil, fmt.Appendf(nil, `{"entity_id": %q, "phase": "outreach"}`, entity))
	if got.status != http.StatusConflict || !strings.Contains(got.text, "PROMOTION_BLOCKED") {
		c.Errorf("%+q is promoted: %s", entity, got.body)
	}
}

// refusesTwins sends ids that look like another one and are not.
func (c *caller) refusesTwins() {
	for _, twin := range []string{"CO-1\u200b", "CO\u00ad-1", "\ufeffCO-1", "CO-1 ", " CO-1", "CO-1\u2060", "CO-1\ufe0f", "CO-1\u00a0"} {
		got := c.send(http.MethodGet, "/v1/promotion/"+url.PathEscape(twin), nil, nil)
		if !strings.Contains(got.text, `"error_code":"VALIDATION_ERROR"`) {
			c.Errorf("the gate of %+q is answered with %s", twin, got.body)
		}
		got = c.send(http.MethodPost, "/v1/errors", nil, []byte(reportOf(twin)))
		if !strings.Contains(got.text, `"error_code":"VALIDATION_ERROR"`) {
			c.Errorf("a report of %+q is answered with %s", twin, got.body)
		}
	}
}

// plainTwins does the same in plain SQL.
func (c *caller) plainTwins(db bare) {
	insert := "insert into outreach.dol_errors (outreach_id, code, message) values ($1, 'NETWORK_TIMEOUT', 'late')"
	if _, err := db.ExecContext(c.Context(), insert, decomposed+"-sql"); err != nil {
		c.Fatal(err)
	}
	c.blocked(composed + "-sql")
	for _, form := range []string{composed, decomposed} {
		var blocked bool
		if err := db.QueryRowContext(c.Context(), "select recoup.is_blocked($1)", form+"-sql").Scan(&blocked); err != nil || !blocked {
			c.Errorf("is_blocked of %+q: %v, %v", form, blocked, err)
		}
		var seq *int64
		if err := db.QueryRowContext(c.Context(), "select seq from recoup.promote($1, 'outreach')", form+"-sql").Scan(&seq); err != nil || seq != nil {
			c.Errorf("promote of %+q: %v, %v", form, seq, err)
		}
	}
	for _, twin := range []string{"CO-1 ", " CO-1", "CO-1\u200b", "CO\u00ad-1", "CO-1\n", "CO-1\u00a0", "CO-1\ufeff", "CO-1\u0085"} {
		for _, statement := range []string{insert, "select recoup.is_blocked($1)", "select seq from recoup.promote($1, 'outreach')"} {
			if _, err := db.ExecContext(c.Context(), statement, twin); err == nil || !strings.Contains(err.Error(), "RC001") {
				c.Errorf("%s of %+q: %v", statement, twin, err)
			}
		}
	}
}
