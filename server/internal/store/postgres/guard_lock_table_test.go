package postgres_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// A role that may only connect can fill the lock table of the server with advisory locks. The session is named:
// by the doctor once it holds a quarter, and to a node that gets no lock.
func TestLockTableHoldersAreNamed(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Start(t, pgtest.Options{Settings: []string{"max_connections=20"}}).Migrated(t)
	s, err := postgres.Open(t.Context(), appURL, postgres.Options{MaxConns: 4, LockTimeout: 200 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, s.SyncTables(t.Context(), policy.Default()))
	owner := at(t, ownerURL)
	name := "filler_" + owner.Config().Database
	owner.run("create role " + name + " login")
	outsider := role(t, owner, name)
	outsider.run("select pg_advisory_lock(n) from generate_series(1, 350) n")
	oid := fmt.Sprintf("oid %d", ask[uint32](owner, "select oid from pg_roles where rolname = $1", name))
	is := func(list []store.LockHolder, role string) bool {
		return len(list) == 1 && list[0].PID == int(outsider.PgConn().PID()) && list[0].Role == role && list[0].On == store.ManyObjects && strings.HasSuffix(list[0].Mode, " locks")
	}
	facts, err := s.Inspect(t.Context(), store.Inspection{})
	if must(t, err); !is(facts.Server.Locks, name) {
		t.Errorf("the doctor finds %+v", facts.Server.Locks)
	}
	if got := outsider.sqlState("select pg_advisory_lock(n) from generate_series(1, 1000000) n"); got != "53200" {
		t.Errorf("filled with %s", got)
	}
	_, _, err = s.Promote(t.Context(), store.Promotion{ID: recoup.ID{1}, Entity: "e", Phase: "next", By: "ada", At: conformance.Epoch()})
	if err == nil {
		t.Error("promoted without a lock")
	}
	list, ok, err := s.LockHolders(t.Context())
	if must(t, err); !ok || !is(list, oid) {
		t.Errorf("to a node: %+v, %t", list, ok)
	}
	must(t, syscall.Kill(list[0].PID, syscall.SIGTERM)) // pg_terminate_backend has no room for a lock either
	for ask[bool](owner, "select exists (select from pg_lock_status() where pid = $1) from pg_sleep(0.01)", list[0].PID) {
	}
	if _, _, err := s.Promote(t.Context(), store.Promotion{ID: recoup.ID{2}, Entity: "e", Phase: "next", By: "ada", At: conformance.Epoch()}); err != nil {
		t.Error(err)
	}
}

// Advisory locks can be taken from all roles, as docs/operations.md says, and Recoup goes on.
func TestAdvisoryLocksCanBeRevoked(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	text, err := os.ReadFile("../../../../docs/operations.md")
	must(t, err)
	revoke := regexp.MustCompile(`(?s)    do \$\$\n    declare f regprocedure;.*?to recoup_owner;`).FindString(string(text))
	role(t, owner, "postgres").run(revoke)
	outsider := role(t, owner, member(t, owner, "unlocked", "recoup_reader"))
	for _, call := range []string{"pg_advisory_lock(1)", "pg_advisory_lock_shared(1)", "pg_advisory_xact_lock(1)", "pg_try_advisory_lock(1, 2)", "pg_try_advisory_xact_lock_shared(1)"} {
		if got := outsider.sqlState("select " + call); got != privilege {
			t.Errorf("%s: %s", call, got)
		}
	}
	d := conformance.NewDriver(t, s)
	d.Resolve(d.Report(dol, "CO-1", "NETWORK_TIMEOUT", recoup.Medium).ID)
	must(t, postgres.Migrate(t.Context(), owner.Config().ConnString()))
}
