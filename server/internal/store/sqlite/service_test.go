package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestService(t *testing.T) {
	t.Parallel()
	conformance.RunService(t, func(t *testing.T) conformance.Service { return open(t) })
}

// serviceSQL is a connection of somebody else that looks at the service's tables.
type serviceSQL struct{ plainSQL }

func (s serviceSQL) Try(sql string) error {
	return s.plainSQL.Try(strings.NewReplacer("recoup.", "", "{hash}", "zeroblob(32)").Replace(sql))
}

func (s serviceSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{"api_key", "audit", "policy_version", "platform_key", "leader", "job", "idempotency", "outbox", "session",
		"processed_minute", "processed_hour"} {
		rows, err := s.db.QueryContext(s.Context(), "select * from "+table+" order by 1")
		if err != nil {
			s.Fatal(err)
		}
		fmt.Fprintf(&b, "%s:\n%s\n", table, strings.Join(s.lines(rows), "\n"))
	}
	return b.String()
}

// replacingService are ways in which a row could be replaced without being
// deleted by name.
func replacingService() []string {
	var list []string
	for _, verb := range []string{"insert or replace", "replace", "insert or ignore", "insert"} {
		list = append(list,
			verb+` into api_key (key_id, name, role, key_hash, created_at, created_by)
				select key_id, name, 'admin', {hash}, created_at, created_by from api_key where name = 'revoked'`,
			verb+` into api_key (key_id, name, role, key_hash, created_at, created_by)
				select {id}, name, 'admin', key_hash, created_at, created_by from api_key where name = 'revoked'`,
			verb+` into audit (seq, at, actor, act) select seq, at, 'x', act from audit`,
			verb+` into policy_version (number, version, hash, text, added_at, added_by) select number, version, hash, 'x', added_at, added_by from policy_version`,
			verb+` into policy_version (number, version, hash, text, added_at, added_by) select 3, version, hash, 'x', added_at, added_by from policy_version where number = 1`,
			verb+` into platform_key (key_id, purpose, secret, created_at) select key_id, purpose, {hash}, created_at from platform_key where key_id = 'deleted'`,
			verb+` into platform_key (rowid, key_id, purpose, secret, created_at) select rowid, 'x', purpose, {hash}, created_at from platform_key where key_id = 'deleted'`,
			verb+` into leader (name, number, holder, ends_at) select name, 1, 'x', ends_at from leader`,
			verb+` into job (name, leader, term, runs) select name, leader, 1, runs from job`,
			verb+` into idempotency (scope, key, request_hash, created_at, expires_at) select scope, key, {hash}, created_at, expires_at from idempotency`,
			verb+` into outbox (notice_id, kind, recipient, created_at, due_at) select notice_id, 'x', recipient, created_at, {time} from outbox where due_at is null`,
			verb+` into outbox (rowid, kind, recipient, created_at, due_at) select rowid, 'x', recipient, created_at, {time} from outbox where due_at is null`,
			verb+` into outbox (kind, recipient, created_at, due_at, dedup_key) select 'x', recipient, created_at, {time}, dedup_key from outbox where due_at is null`)
	}
	return append(list,
		`insert or replace into audit (seq, at, actor, act) values (-1, {time}, 'x', 'x')`,
		`insert into platform_key (rowid, key_id, purpose, secret, created_at) values (-1, 'x', 'x', {hash}, {time})`,
		`insert into outbox (rowid, kind, recipient, created_at, due_at) values (-1, 'x', 'x', {time}, {time})`,
		`update or replace api_key set key_hash = (select key_hash from api_key where name = 'revoked') where name = 'live'`,
		`update or replace platform_key set rowid = (select rowid from platform_key where key_id = 'deleted') where key_id = 'live'`,
		`update or replace outbox set dedup_key = 'delivered' where dedup_key = 'waits'`,
		`update or ignore api_key set revoked_at = null, revoked_by = null where name = 'revoked'`)
}

func TestServiceActs(t *testing.T) {
	t.Parallel()
	s := open(t)
	conformance.RunServiceActs(t, s, serviceSQL{connect(t, s.path)}, replacingService()...)
}

// A secret that was deleted is nowhere: not in the file, not in its log. There
// are enough of them that pages have been split and secrets have moved.
func TestDeletedSecretsAreOverwritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	act := store.Act{By: "ada", At: conformance.Epoch()}
	secret := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "secret-%03d.", i), 9) }
	const n = 60
	for i := range n {
		key := store.PlatformKey{ID: fmt.Sprintf("%02x-%d", i*37%n, i), Purpose: "payload", Secret: secret(i)}
		if err := s.AddPlatformKey(t.Context(), key, act); err != nil {
			t.Fatal(err)
		}
	}
	found := func() (list []int) {
		var all []byte
		for _, name := range []string{s.path, s.path + "-wal"} {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		for i := range n {
			if bytes.Contains(all, secret(i)[:11]) {
				list = append(list, i)
			}
		}
		return list
	}
	if len(found()) != n {
		t.Fatalf("%d of %d secrets are to be seen before", len(found()), n)
	}
	for i := range n {
		if i%2 == 1 {
			continue
		}
		if err := s.DeletePlatformKey(t.Context(), fmt.Sprintf("%02x-%d", i*37%n, i), act); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range found() {
		if i%2 == 0 {
			t.Errorf("secret %d can still be read", i)
		}
	}
}
