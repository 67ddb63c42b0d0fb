package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// hashOf is the hash of a key of the world, as a session has it.
func (w *world) hashOf(key string) [32]byte { return sha256.Sum256([]byte(w.keys[key])) }

// within sends a request of this process, for a key that it knows by its hash alone.
func (w *world) within(hash [32]byte, method, path string, body any) *answer {
	w.Helper()
	r := w.request("", method, path, body)
	return w.send(r.WithContext(httpapi.WithKey(r.Context(), hash)))
}

// A call of this process for a key is that key's: its role, its hubs, its name in the
// audit, whatever key the call names beside.
func TestCallsWithinAreOfTheirKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var self wire.Key
	w.within(w.hashOf("operator"+onlyDOL), http.MethodGet, "/v1/keys/self", nil).ok(&self)
	if self.Name != "operator"+onlyDOL || self.Role != "operator" || len(self.Hubs) != 1 || self.Hubs[0] != dolHub || self.Hint != w.keys["operator"+onlyDOL][:8] {
		t.Errorf("it is %+v", self)
	}
	w.within(w.hashOf("reader"), http.MethodPost, "/v1/keys", wire.NewKey{Name: "n", Role: "admin"}).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	r := w.request("admin", http.MethodGet, "/v1/keys", nil)
	w.send(r.WithContext(httpapi.WithKey(r.Context(), w.hashOf("reader")))).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)

	var made wire.Key
	w.within(w.hashOf("admin"), http.MethodPost, "/v1/keys", wire.NewKey{Name: "n", Role: "reader", Reason: "for the page"}).ok(&made)
	var page wire.AuditPage
	w.get("/v1/audit?act=key.create&limit=1").ok(&page)
	if e := page.Entries[0]; e.Actor != "admin" || e.Target != made.ID.String() || e.KeyID.IsZero() {
		t.Errorf("the audit has %+v", e)
	}
}

// What ends a key ends what this process does for it.
func TestCallsWithinEndWithTheirKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.within(w.hashOf(revoked), http.MethodGet, "/v1/keys/self", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	w.within(w.hashOf(expired), http.MethodGet, "/v1/keys/self", nil).failed(http.StatusUnauthorized, fault.CodeAPIKeyExpired)
	w.within([32]byte{1}, http.MethodGet, "/v1/keys/self", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	w.within([32]byte{}, http.MethodGet, "/v1/keys/self", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)

	var made wire.Key
	w.post("/v1/keys", wire.NewKey{Name: "n", Role: "reader", Days: 1}).ok(&made)
	hash := sha256.Sum256([]byte(made.Secret))
	w.within(hash, http.MethodGet, "/v1/policy", nil).ok()
	w.post("/v1/keys/"+made.ID.String()+"/revoke", object{}).ok()
	w.within(hash, http.MethodGet, "/v1/policy", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)

	w.post("/v1/keys", wire.NewKey{Name: "n", Role: "reader", Days: 1}).ok(&made)
	hash = sha256.Sum256([]byte(made.Secret))
	w.within(hash, http.MethodGet, "/v1/policy", nil).ok()
	w.wait(25 * time.Hour)
	w.within(hash, http.MethodGet, "/v1/policy", nil).failed(http.StatusUnauthorized, fault.CodeAPIKeyExpired)
}

// A call of this process counts against the limits of its key.
func TestCallsWithinAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{PerKey: 1}))
	for range 2 {
		w.within(w.hashOf("reader"), http.MethodGet, "/v1/policy", nil).ok()
	}
	w.do("reader", http.MethodGet, "/v1/policy", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
	w.within(w.hashOf("reader"), http.MethodGet, "/v1/policy", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
}

// Who knows the hash of a key, as a reader of the database does, has no key: nothing that
// comes over a connection is a call of this process.
func TestAHashIsNoKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	hash := w.hashOf("admin")
	ctx := httpapi.WithKey(t.Context(), hash) // of the sender, which does not travel
	for _, headers := range [][]string{
		{}, {"Authorization", "Bearer " + hex.EncodeToString(hash[:])},
		{"X-Api-Key", hex.EncodeToString(hash[:])}, {"X-Recoup-Key", hex.EncodeToString(hash[:])}, {"Authorization", "Bearer rdb_" + hex.EncodeToString(hash[:16])},
		{"Cookie", "session=" + hex.EncodeToString(hash[:])},
	} {
		if got := statusOf(ctx, t, server.URL+"/v1/keys/self", headers...); got != http.StatusUnauthorized {
			t.Errorf("%s is answered with %d", strings.Join(headers, " "), got)
		}
	}
	if got := statusOf(ctx, t, server.URL+"/v1/keys/self", "Authorization", "Bearer "+w.keys["reader"]); got != http.StatusOK {
		t.Errorf("a key is answered with %d", got)
	}
}

func statusOf(ctx context.Context, t *testing.T, url string, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header[headers[i]] = []string{headers[i+1]}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// Everybody may know who they are; nobody is told a secret.
func TestSelf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, role := range httpapi.Roles() {
		var self wire.Key
		got := w.do(string(role), http.MethodGet, "/v1/keys/self", nil).ok(&self)
		if self.Name != string(role) || self.Role != string(role) || self.Hint != w.keys[string(role)][:8] || self.ExpiresAt.IsZero() || strings.Contains(got.Body.String(), w.keys[string(role)]) {
			t.Errorf("%s is %+v", role, self)
		}
	}
}

// Where nobody needs a key, everybody is the demo's administrator.
func TestSelfOfADemo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *world, o *app.Options) { o.Demo = true })
	r := w.request("", http.MethodGet, "/v1/keys/self", nil)
	r.Host = "localhost"
	var self wire.Key
	w.send(r).ok(&self)
	if self.Name != "demo" || self.Role != "admin" {
		t.Errorf("it is %+v", self)
	}
}
