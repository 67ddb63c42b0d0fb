package ledger_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/ledger"
)

func hmacOf(key ledger.TenantKey, tenant string) string {
	mac := hmac.New(sha256.New, key.Secret)
	mac.Write([]byte(tenant))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestTenantHash(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t)
	for _, tenant := range []string{"acme", "", "größe", string(make([]byte, 5000)), "a", "acme"} {
		hash, key := tenants.Hash(tenant)
		if key != "2026-01" || hash != hmacOf(tenantKey("2026-01"), tenant) {
			t.Errorf("%.20q has the hash %s under %s", tenant, hash, key)
		}
	}
}

func TestTenantKeysRotate(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t)
	old, _ := tenants.Hash("acme")
	if err := tenants.Replace("2026-04", tenantKey("2026-01"), tenantKey("2026-04")); err != nil {
		t.Fatal(err)
	}
	hash, key := tenants.Hash("acme")
	if key != "2026-04" || hash == old {
		t.Errorf("after the rotation %s hashes", key)
	}
	want := []string{hmacOf(tenantKey("2026-04"), "acme"), hmacOf(tenantKey("2026-01"), "acme")}
	if got := tenants.TenantHashes("acme"); !slices.Equal(got, want) {
		t.Errorf("the candidates are %v, want %v", got, want)
	}
}

func TestTenantKeysAreChecked(t *testing.T) {
	t.Parallel()
	good := tenantKey("a")
	for name, keys := range map[string][]ledger.TenantKey{
		"none":       {},
		"no current": {tenantKey("b")},
		"no id":      {good, {Secret: good.Secret}},
		"twice":      {good, good},
		"too short":  {good, {ID: "b", Secret: []byte("fifteen bytes..")}},
	} {
		tenants := newTenants(t)
		if err := tenants.Replace("a", keys...); err == nil {
			t.Errorf("%s: replaced", name)
		}
		if _, key := tenants.Hash("acme"); key != "2026-01" {
			t.Errorf("%s: what was refused is in force", name)
		}
	}
}

// A hash always belongs to the key that is named with it.
func TestTenantKeysRotateAtOnce(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t)
	keys := []ledger.TenantKey{tenantKey("2026-01"), tenantKey("2026-04")}
	var hashing sync.WaitGroup
	for range 4 {
		hashing.Go(func() {
			for range 500 {
				hash, id := tenants.Hash("acme")
				if hash != hmacOf(tenantKey(id), "acme") {
					t.Errorf("%s is not the hash under %s", hash, id)
				}
			}
		})
	}
	for i := range 500 {
		if err := tenants.Replace(keys[i%2].ID, keys...); err != nil {
			t.Error(err)
		}
	}
	hashing.Wait()
}
