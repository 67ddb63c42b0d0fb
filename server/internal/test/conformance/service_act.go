package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// ServiceSQL is a way to a store's database by plain SQL, as somebody else's
// program has it. Statements are written for PostgreSQL, with {id} for a fresh
// id, {hash} for some hash, {hour} for an hour and {time} for some time; a store
// translates what it spells differently.
type ServiceSQL interface {
	// Try runs a statement and, if it succeeds, undoes it.
	Try(sql string) error

	// Refused reports whether an error says that the rules forbid a statement,
	// rather than that it is wrong.
	Refused(err error) bool

	// Dump returns all rows of the service's tables.
	Dump() string
}

// RunServiceActs tries by plain SQL what the rules forbid. Each statement must be
// refused and leave everything as it is; its lawful neighbours must go through,
// so that nothing is refused for the wrong reason.
func RunServiceActs(t *testing.T, s Service, raw ServiceSQL, more ...string) {
	serviceScene(newServiceDriver(t, s))
	before := raw.Dump()
	for _, sql := range append(serviceForbidden(), more...) {
		if err := raw.Try(sql); err == nil || !raw.Refused(err) {
			t.Errorf("%s: answered with %v, want a refusal", sql, err)
		}
	}
	for _, sql := range serviceAllowed() {
		if err := raw.Try(sql); err != nil {
			t.Errorf("%s: answered with %v", sql, err)
		}
	}
	if after := raw.Dump(); after != before {
		t.Errorf("the rows have changed from\n%s\nto\n%s", before, after)
	}
}

// serviceScene fills a store with one of everything, in every state.
func serviceScene(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	live, revoked, rotated := d.created(d.key("live")), d.created(d.key("revoked")), d.created(d.key("rotated"))
	d.must(d.store.TouchKeys(d.Context(), map[recoup.ID]time.Time{live.ID: d.now}))
	_, err := d.store.RevokeKey(d.Context(), revoked.ID, d.act("ada"))
	d.must(err)
	_, err = d.store.RotateKey(d.Context(), rotated.ID, d.key("next"), d.now.Add(day), d.act("ada"))
	d.must(err)
	d.must(d.store.AddSession(d.Context(), store.Session{Hash: [32]byte{1}, KeyHash: live.Hash, CreatedAt: d.now, SeenAt: d.now, EndsAt: d.now.Add(day)}))
	d.addPolicy("1", "a")
	d.addPolicy("2", "b")
	d.addPlatformKey("live", "tenant")
	d.addPlatformKey("deleted", "tenant")
	d.must(d.store.DeletePlatformKey(d.Context(), "deleted", d.act("ada")))
	d.must(d.store.AddPlatformKey(d.Context(), store.PlatformKey{ID: "wrapped", Purpose: "payload", Secret: []byte("x"), WrappedBy: "m1"}, d.act("ada")))
	d.leads("n1", 1)
	d.wait(term)
	d.must(d.store.SaveJob(d.Context(), d.leads("n2", 2), store.Job{Name: "expiry", Runs: 2, Failures: 1}))
	d.enqueue("delivered", "given up", "tried", "sent", "waits")
	list := d.claimed(4, "delivered", "given up", "tried", "sent")
	for _, n := range list {
		switch n.Key {
		case "delivered":
			d.finish(1, store.Delivery{ID: n.ID, Attempt: 1, Delivered: true})
		case "given up":
			d.finish(1, store.Delivery{ID: n.ID, Attempt: 1})
		case "sent":
			d.must(d.store.SaveMessage(d.Context(), message(n)))
		}
	}
	d.must(d.store.AddProcessed(d.Context(), []store.Processed{{Minute: d.now, Table: dol, Service: "api", N: 10, Failed: 1}}))
	errors.reportOnce("e1", errors.receipt("a", "x"))
	o, _ := d.running(errors, 2)
	d.carry(errors, o.ID, 1)
}

func serviceForbidden() []string {
	return slices.Concat(forbiddenKeys(), forbiddenSessions(), forbiddenOperations(), forbiddenRecords(), forbiddenTerms(), forbiddenNotices())
}

func forbiddenKeys() []string {
	return []string{
		"update recoup.api_key set key_id = {id} where name = 'live'",
		"update recoup.api_key set key_hash = {hash} where name = 'live'",
		"update recoup.api_key set role = 'admin' where name = 'live'",
		"update recoup.api_key set role = 'king' where name = 'live'",
		"update recoup.api_key set hubs = '[]' where name = 'live'",
		"update recoup.api_key set hint = 'x' where name = 'live'",
		"update recoup.api_key set created_at = created_at - {hour} where name = 'live'",
		"update recoup.api_key set created_by = 'x' where name = 'live'",
		"update recoup.api_key set expires_at = expires_at + {hour} where name = 'live'",
		"update recoup.api_key set expires_at = null where name = 'live'",
		"update recoup.api_key set last_used_at = last_used_at - {hour} where name = 'live'",
		"update recoup.api_key set last_used_at = null where name = 'live'",
		"update recoup.api_key set revoked_at = {time} where name = 'live'",
		"update recoup.api_key set revoked_at = null, revoked_by = null where name = 'revoked'",
		"update recoup.api_key set revoked_at = revoked_at + {hour} where name = 'revoked'",
		"update recoup.api_key set revoked_by = 'x' where name = 'revoked'",
		"update recoup.api_key set expires_at = expires_at - {hour} where name = 'revoked'",
		"update recoup.api_key set name = 'x' where name = 'revoked'",
		"update recoup.api_key set rotated_to = null where name = 'rotated'",
		"update recoup.api_key set rotated_to = (select key_id from recoup.api_key where name = 'live') where name = 'rotated'",
		"delete from recoup.api_key where name = 'live'",
		"delete from recoup.api_key",
		newKey("{hash}", ", revoked_at, revoked_by", ", {time}, 'x'"),
		newKey("{hash}", ", last_used_at", ", {time}"),
		newKey("(select key_hash from recoup.api_key where name = 'live')", "", ""),
	}
}

func forbiddenSessions() []string {
	return []string{
		"update recoup.session set session_hash = {hash}",
		"update recoup.session set key_hash = (select key_hash from recoup.api_key where name = 'revoked')",
		"update recoup.session set created_at = created_at - {hour}",
		"update recoup.session set ends_at = ends_at + {hour}",
		"update recoup.session set seen_at = seen_at - {hour}",
		"insert into recoup.session (session_hash, key_hash, created_at, seen_at, ends_at) select session_hash, key_hash, created_at, seen_at, ends_at from recoup.session",
		"insert into recoup.session (session_hash, key_hash, created_at, seen_at, ends_at) select {hash}, {hash}, created_at, seen_at, ends_at from recoup.session",
	}
}

// forbiddenOperations are about an operation that runs, with a member that has its result
// and one that has not.
func forbiddenOperations() []string {
	return []string{
		"update recoup.operation set operation_id = {id}",
		"update recoup.operation set act = 'archive'",
		"update recoup.operation set filter = '{}'",
		"update recoup.operation set created_by = 'x'",
		"update recoup.operation set members = members + 1",
		"update recoup.operation set hub = 'x'",
		"update recoup.operation set input = '{}'",
		"update recoup.operation set confirmed_by = 'x'",
		"update recoup.operation set confirmed_at = null, confirmed_by = null, state = 'FROZEN', expires_at = {time}",
		"update recoup.operation set applied = applied - 1",
		"update recoup.operation set state = 'DONE', ended_at = {time}, expires_at = {time}",
		"delete from recoup.operation",
		"update recoup.operation_item set result = 'PENDING', ended_at = null where result = 'APPLIED'",
		"update recoup.operation_item set result = 'REFUSED' where result = 'APPLIED'",
		"update recoup.operation_item set error_id = {id} where result = 'PENDING'",
		"update recoup.operation_item set seen_at = seen_at + {hour} where result = 'PENDING'",
		"delete from recoup.operation_item",
		"insert into recoup.operation_item (operation_id, position, error_id, seen_at, result) select operation_id, 9, error_id, seen_at, 'PENDING' from recoup.operation_item where position = 0",
	}
}

// forbiddenRecords are about what is only ever added to.
func forbiddenRecords() []string {
	return []string{
		"update recoup.audit set actor = 'x'",
		"update recoup.audit set at = at + {hour} where act = 'key.create'",
		"delete from recoup.audit where act = 'key.create'",
		"delete from recoup.audit",

		"update recoup.policy_version set text = 'x' where number = 2",
		"update recoup.policy_version set version = 'x' where number = 1",
		"delete from recoup.policy_version where number = 2",
		newPolicy("4", "3"), newPolicy("2", "3"), newPolicy("0", "3"), newPolicy("3", "1"),

		"update recoup.platform_key set secret = {hash} where key_id = 'live'",
		"update recoup.platform_key set secret = null where key_id = 'live'",
		"update recoup.platform_key set secret = {hash}, wrapped_by = null where key_id = 'live'",
		"update recoup.platform_key set secret = {hash}, wrapped_by = 'm1' where key_id = 'deleted'",
		"update recoup.platform_key set secret = {hash}, wrapped_by = 'm2' where key_id = 'live'",
		"update recoup.platform_key set secret = {hash}, wrapped_by = 'm2' where key_id = 'wrapped'",
		"update recoup.platform_key set secret = {hash}, wrapped_by = 'm1' where key_id = 'wrapped'",
		"update recoup.platform_key set wrapped_by = null where key_id = 'wrapped'",
		"update recoup.platform_key set secret = null, deleted_at = {time}, wrapped_by = 'm2' where key_id = 'wrapped'",
		"insert into recoup.platform_key (key_id, purpose, secret, created_at) values ('x', 'payload', {hash}, {time})",
		"insert into recoup.platform_key (key_id, purpose, secret, created_at, wrapped_by) values ('x', 'payload', {hash}, {time}, 'm2')",
		"update recoup.platform_key set deleted_at = {time} where key_id = 'live'",
		"update recoup.platform_key set purpose = 'x' where key_id = 'live'",
		"update recoup.platform_key set key_id = 'x' where key_id = 'live'",
		"update recoup.platform_key set secret = {hash}, deleted_at = null where key_id = 'deleted'",
		"update recoup.platform_key set deleted_at = deleted_at + {hour} where key_id = 'deleted'",
		"delete from recoup.platform_key where key_id = 'deleted'",
		"insert into recoup.platform_key (key_id, purpose, secret, created_at) values ('deleted', 'tenant', {hash}, {time})",
		"insert into recoup.platform_key (key_id, purpose, created_at, deleted_at) values ('x', 'tenant', {time}, {time})",
		"insert into recoup.platform_key (key_id, purpose, created_at) values ('x', 'tenant', {time})",

		"update recoup.idempotency set answer = {hash}",
		"update recoup.idempotency set expires_at = expires_at + {hour}",
		`insert into recoup.idempotency (scope, key, request_hash, created_at, expires_at)
			select scope, key, {hash}, created_at, expires_at from recoup.idempotency`,
	}
}

func forbiddenTerms() []string {
	return []string{
		"update recoup.leader set number = number - 1",
		"update recoup.leader set number = number + 2, holder = 'x'",
		"update recoup.leader set holder = 'x'",
		"update recoup.leader set name = 'x'",
		"update recoup.leader set number = number + 1, holder = null, ends_at = null",
		"update recoup.leader set ends_at = null",
		"delete from recoup.leader",
		"insert into recoup.leader (name, number, holder, ends_at) values ('clockwork', 1, 'x', {time})",

		"update recoup.job set term = 1",
		"update recoup.job set term = 3",
		"update recoup.job set leader = 'x'",
		"update recoup.job set name = 'x'",
		"update recoup.job set failures = 3",
		"delete from recoup.job",
		"insert into recoup.job (name, leader, term) values ('x', 'clockwork', 1)",
	}
}

func forbiddenNotices() []string {
	return []string{
		"update recoup.outbox set due_at = {time}, delivered_at = null where dedup_key = 'delivered'",
		"update recoup.outbox set delivered_at = delivered_at + {hour} where dedup_key = 'delivered'",
		"update recoup.outbox set due_at = {time}, given_up_at = null where dedup_key = 'given up'",
		"update recoup.outbox set kind = 'x' where dedup_key = 'waits'",
		"update recoup.outbox set recipient = 'x' where dedup_key = 'waits'",
		"update recoup.outbox set body = '{}' where dedup_key = 'waits'",
		"update recoup.outbox set dedup_key = 'x' where dedup_key = 'waits'",
		"update recoup.outbox set notice_id = {id} where dedup_key = 'waits'",
		"update recoup.outbox set created_at = created_at + {hour} where dedup_key = 'waits'",
		"update recoup.outbox set error_id = {id} where dedup_key = 'waits'",
		"update recoup.outbox set attempts = attempts - 1 where dedup_key = 'tried'",
		"update recoup.outbox set attempts = attempts + 2 where dedup_key = 'tried'",
		"update recoup.outbox set delivered_at = {time} where dedup_key = 'waits'",
		"update recoup.outbox set due_at = null where dedup_key = 'waits'",
		"update recoup.outbox set message_id = null, message = null where dedup_key = 'sent'",
		"update recoup.outbox set message_id = {id}, message = null where dedup_key = 'sent'",
		"update recoup.outbox set message = '{}' where dedup_key = 'sent'",
		"update recoup.outbox set message = '{}' where dedup_key = 'tried'",
		"update recoup.outbox set message_id = notice_id where dedup_key = 'tried'",
		"delete from recoup.outbox where dedup_key = 'waits'",
		"delete from recoup.outbox",
		"insert into recoup.outbox (kind, recipient, created_at, due_at, dedup_key) values ('x', 'x', {time}, {time}, 'delivered')",

		"update recoup.processed_minute set n = -1",
		"update recoup.processed_minute set failed = n + 1",
		"update recoup.processed_hour set failed = -1",
		"update recoup.processed_hour set duration_us = -1",
	}
}

// newKey is a new key with more columns.
func newKey(hash, columns, values string) string {
	return `insert into recoup.api_key (key_id, name, role, key_hash, created_at, created_by` + columns + `)
		values ({id}, 'new', 'reader', ` + hash + `, {time}, 'x'` + values + `)`
}

// newPolicy is a new policy.
func newPolicy(number, version string) string {
	return `insert into recoup.policy_version (number, version, hash, text, added_at, added_by)
		values (` + number + `, '` + version + `', {hash}, 'x', {time}, 'x')`
}

// serviceAllowed are lawful neighbours of what is forbidden.
func serviceAllowed() []string {
	return []string{
		"update recoup.api_key set name = 'x', expires_at = expires_at - {hour}, last_used_at = last_used_at + {hour} where name = 'live'",
		"update recoup.api_key set revoked_at = {time}, revoked_by = 'x' where name = 'live'",
		"update recoup.api_key set last_used_at = {time} where name = 'revoked'",
		newKey("{hash}", "", ""),
		"insert into recoup.audit (at, actor, act, details) values ({time}, 'x', 'x', '{}')",
		newPolicy("3", "3"),
		"update recoup.platform_key set secret = null, deleted_at = {time} where key_id = 'live'",
		"insert into recoup.platform_key (key_id, purpose, secret, created_at, wrapped_by) values ('x', 'tenant', {hash}, {time}, 'm1')",
		"update recoup.leader set number = number + 1, holder = 'x'",
		"update recoup.leader set ends_at = ends_at + {hour}",
		"update recoup.leader set holder = null, ends_at = null",
		"update recoup.job set runs = runs + 1",
		"delete from recoup.idempotency",
		"update recoup.session set seen_at = seen_at + {hour}",
		"delete from recoup.session",
		"update recoup.outbox set attempts = attempts + 1, due_at = due_at + {hour} where dedup_key = 'tried'",
		"update recoup.outbox set due_at = null, delivered_at = {time} where dedup_key in ('tried', 'sent')",
		"update recoup.outbox set message_id = notice_id, message = '{}' where dedup_key = 'tried'",
		"delete from recoup.outbox where dedup_key in ('delivered', 'given up')",
	}
}
