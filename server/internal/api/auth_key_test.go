package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// use adds a key to the world's and returns its name.
func (w *world) use(k wire.Key) string {
	keys := map[string]string{}
	for name, secret := range w.keys {
		keys[name] = secret
	}
	keys[k.ID.String()] = k.Secret
	w.keys = keys
	return k.ID.String()
}

// The life of a key: made, shown once, used, rotated, revoked.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made wire.Key
	w.post("/v1/keys", wire.NewKey{Name: "nightly", Role: "worker", Hubs: []string{dolHub}, Days: 30, Reason: "the nightly import"}).ok(&made)
	if !strings.HasPrefix(made.Secret, "rdb_") || len(made.Secret) != 36 || made.Hint != made.Secret[:8] || made.CreatedBy != "admin" || !made.ExpiresAt.Equal(w.clock().AddDate(0, 0, 30)) {
		t.Fatalf("made %+v", made)
	}
	name := w.use(made)
	w.do(name, http.MethodGet, "/v1/errors", nil).ok()
	w.do("", http.MethodGet, "/v1/errors", nil, "X-API-Key", made.Secret).ok()
	if list := w.get("/v1/keys").ok(); strings.Contains(list.Body.String(), made.Secret) {
		t.Error("a list shows the key")
	}

	var next wire.Key
	w.post("/v1/keys/"+made.ID.String()+"/rotate", object{"hours": 2, "reason": "a year is over"}).ok(&next)
	if next.Name != made.Name || next.Role != made.Role || !slices.Equal(next.Hubs, made.Hubs) || next.Secret == made.Secret {
		t.Errorf("rotated to %+v", next)
	}
	successor := w.use(next)
	w.do(name, http.MethodGet, "/v1/errors", nil).ok()
	w.do(successor, http.MethodGet, "/v1/errors", nil).ok()
	w.post("/v1/keys/"+made.ID.String()+"/rotate", object{}).failed(http.StatusConflict, fault.CodeConflict)
	w.wait(3 * time.Hour)
	w.do(name, http.MethodGet, "/v1/errors", nil).failed(http.StatusUnauthorized, fault.CodeAPIKeyExpired)

	var gone wire.Key
	w.do(successor, http.MethodGet, "/v1/errors", nil).ok() // so that it is remembered
	w.post("/v1/keys/"+next.ID.String()+"/revoke", object{"reason": "it was in a log"}).ok(&gone)
	if gone.RevokedBy != "admin" || gone.RevokedAt.IsZero() || gone.Secret != "" {
		t.Errorf("revoked %+v", gone)
	}
	w.do(successor, http.MethodGet, "/v1/errors", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	w.post("/v1/keys/"+next.ID.String()+"/revoke", object{}).ok(&gone) // the first time stands
	w.post("/v1/keys/"+next.ID.String()+"/rotate", object{}).failed(http.StatusConflict, fault.CodeConflict)
}

// A key that is not to be is refused, with all that is wrong with it.
func TestKeysThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.trace()
	good := wire.NewKey{Name: "n", Role: "reader"}
	for field, change := range map[string]func(*wire.NewKey){
		"name":    func(k *wire.NewKey) { k.Name = "" },
		"role":    func(k *wire.NewKey) { k.Role = "root" },
		"days":    func(k *wire.NewKey) { k.Days = 91 },
		"hubs[0]": func(k *wire.NewKey) { k.Hubs = []string{"nobody"} },
		"reason":  func(k *wire.NewKey) { k.Reason = strings.Repeat("x", 1001) },
	} {
		bad := good
		change(&bad)
		e := w.post("/v1/keys", bad).failed(http.StatusBadRequest, fault.CodeValidationError)
		if f := e.Fields; len(f) != 1 || f[0].Field != field {
			t.Errorf("%s: got %+v", field, f)
		}
	}
	w.post("/v1/keys", wire.NewKey{Name: "sk_live_" + strings.Repeat("4eC39HqLyjWDarjt", 2), Role: "reader"}).invalid("name", "no_secret")
	if w.trace() != before {
		t.Error("a refused key left a trace")
	}
}

// A key that is revoked elsewhere ends here within seconds.
func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made wire.Key
	w.post("/v1/keys", wire.NewKey{Name: "n", Role: "reader"}).ok(&made)
	name := w.use(made)
	w.do(name, http.MethodGet, "/v1/policy", nil).ok()
	if _, err := w.store.RevokeKey(t.Context(), made.ID, act(w)); err != nil {
		t.Fatal(err)
	}
	w.wait(3 * time.Second)
	e := w.do(name, http.MethodGet, "/v1/policy", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	if !strings.Contains(e.Message, "recoup keys create") {
		t.Errorf("who has no key is not told how to make one: %s", e.Message)
	}
}

// Every administrative act is in the audit: who, what, to what, and why.
func TestAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made, next wire.Key
	w.post("/v1/keys", wire.NewKey{Name: "n", Role: "reader", Reason: "r1"}).ok(&made)
	w.post("/v1/keys/"+made.ID.String()+"/rotate", object{"reason": "r2"}).ok(&next)
	w.post("/v1/keys/"+next.ID.String()+"/revoke", object{"reason": "r3"}).ok()
	w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: policyText("1.0.1"), Reason: "r4", Rebase: true}).ok()
	w.do("admin", http.MethodPut, "/v1/codes/QUOTA_OF_MOON", ownCode("QUOTA_OF_MOON")).ok()
	w.do("reader", http.MethodGet, "/v1/events/export", nil).ok()
	w.get("/v1/events/export?rows=true&service=nightly").ok()

	var page wire.AuditPage
	w.get("/v1/audit?from=" + w.clock().Format(time.RFC3339)).ok(&page)
	slices.Reverse(page.Entries)
	var got []string
	for _, e := range page.Entries {
		got = append(got, strings.TrimSpace(strings.Join([]string{e.Actor, e.Act, e.Target, e.Reason}, " ")))
	}
	want := []string{
		"admin key.create " + made.ID.String() + " r1", "admin key.rotate " + made.ID.String() + " r2", "admin key.revoke " + next.ID.String() + " r3",
		"admin policy.add 1.0.1 r4", "admin policy.rebase 1.0.1 r4", "admin code.register QUOTA_OF_MOON", "reader events.export", "admin events.export nightly",
	}
	for i, line := range got { // a rotation may be audited as two acts
		got[i] = strings.Join(strings.Fields(line), " ")
	}
	got = slices.DeleteFunc(got, func(s string) bool { return !slices.Contains(want, s) && strings.Contains(s, next.ID.String()) })
	if !slices.Equal(got, want) {
		t.Errorf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for query, n := range map[string]int{"act=key.create&actor=admin": 1, "target=QUOTA_OF_MOON": 1, "actor=nobody": 0, "to=2020-01-01T00:00:00Z": 0} {
		w.get("/v1/audit?" + query).ok(&page)
		if len(page.Entries) != n {
			t.Errorf("%s: %d entries, want %d", query, len(page.Entries), n)
		}
	}
}

// Every act on an error leaves its actor and its reason in the history, and the
// act's own words are cleaned.
func TestActsLeaveTheirReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.report(dol, "CO-1")
	at := "/v1/errors/" + e.ID.String()
	for _, verb := range []string{"park", "escalate", "assign", "review", "unpark", "resolve", "archive"} {
		act := recoup.Act{Reason: "because of " + verb + ", token=ghp_" + strings.Repeat("a1B2", 9)}
		if verb == "assign" {
			act.To = "ada"
		}
		w.do("operator", http.MethodPost, at+"/"+verb, act).ok()
	}
	var history recoup.ErrorHistory
	w.get(at + "/history").ok(&history)
	if len(history.Transitions) != 8 {
		t.Fatalf("the history has %d rows", len(history.Transitions))
	}
	for _, row := range history.Transitions[1:] {
		if row.Actor != "operator" || !strings.HasPrefix(row.Reason, "because of "+row.Input) || strings.Contains(row.Reason, "ghp_") {
			t.Errorf("the row is %+v", row)
		}
	}
	var archived recoup.Error
	w.get(at).ok(&archived)
	if archived.State != recoup.Archived {
		t.Errorf("it is %s", archived.State)
	}
	w.post(at+"/park", recoup.Act{Reason: "too late"}).failed(http.StatusConflict, fault.CodeInvalidTransition)
}
