package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A rotated key hashes what is new; events of before are found under it all the
// same, until the older key is deleted, and then never again.
func TestTenantKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	send := func(service string) {
		w.post("/v1/events", map[string]any{"code": "NETWORK_TIMEOUT", "service": service, "tenant": "acme"}, "Prefer", "respond-sync").ok()
	}
	found := func(tenant string) (services []string) {
		var page recoup.EventPage
		w.get("/v1/events?tenant=" + tenant).ok(&page)
		for _, e := range page.Events {
			services = append(services, e.Service)
		}
		return services
	}
	send("before")
	var keys wire.TenantKeyList
	w.get("/v1/tenant-keys").ok(&keys)
	old := keys.Keys[0]
	w.post("/v1/tenant-keys/"+old.ID+"/delete", map[string]any{}).failed(http.StatusConflict, fault.CodeConflict)
	w.wait(time.Second)
	var made wire.TenantKey
	w.post("/v1/tenant-keys/rotate", map[string]any{"reason": "a year is over"}).ok(&made)
	send("after")
	if got := found("acme"); len(got) != 2 {
		t.Errorf("found are %v, want both events", got)
	}
	if got := found("other"); len(got) != 0 {
		t.Errorf("of another tenant there is %v", got)
	}
	w.post("/v1/tenant-keys/"+old.ID+"/delete", map[string]any{"reason": "too old"}).ok(&keys)
	if len(keys.Keys) != 1 || keys.Keys[0].ID != made.ID || !keys.Keys[0].Current {
		t.Errorf("left is %+v", keys.Keys)
	}
	if got := found("acme"); len(got) != 1 || got[0] != "after" {
		t.Errorf("found are %v, want what the live key has hashed", got)
	}
	w.get("/v1/events?tenant=acme&from=2026-01-01T00:00:00Z&to=2026-02-03T00:00:00Z").failed(http.StatusBadRequest, fault.CodeValidationError)
}
