package postgres_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Behind PgBouncer in transaction mode, which has fewer sessions than the store has
// connections, every verb does what it does on a session of its own. By default those
// of the service are tried; make soak tries all of them.
func TestPooler(t *testing.T) {
	t.Parallel()
	through := pgtest.Pool(t, "transaction")
	pooled := func(t *testing.T) *opened {
		_, app := pgtest.Migrated(t)
		s, err := postgres.Open(t.Context(), through(app), postgres.Options{Direct: app})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { must(t, s.Close()) })
		return &opened{Store: s, url: app}
	}
	conformance.RunService(t, func(t *testing.T) conformance.Service { return pooled(t) })
	t.Run("every verb", func(t *testing.T) {
		if os.Getenv("RECOUP_SOAK") == "" {
			t.Skip("takes minutes: make soak runs this, or RECOUP_SOAK=1")
		}
		conformance.Run(t, func(t *testing.T) conformance.Store { return pooled(t) })
		conformance.RunLedger(t, func(t *testing.T) conformance.Ledger { return pooled(t) })
		conformance.RunDeadLetters(t, func(t *testing.T) conformance.DeadLetters { return pooled(t) })
		gatezerotest.Run(t, func(t *testing.T) gatezerotest.Database { return pooled(t) })
		conformance.RunAlerts(t, func(t *testing.T) conformance.Alerting { return pooled(t) })
		conformance.RunTogether(t, func(t *testing.T) conformance.Remembering { return pooled(t) })
	})
}

// A pooler that lets nobody in is not taken for one in statement mode.
func TestPoolerLetsNobodyIn(t *testing.T) {
	t.Parallel()
	through := pgtest.Pool(t, "transaction")
	_, app := pgtest.Migrated(t)
	err := opening(t, through(app)+"&work_mem=1MB", "")()
	if errors.Is(err, postgres.ErrStatementMode) || err == nil || !strings.Contains(err.Error(), "unsupported startup parameter: work_mem") {
		t.Errorf("got %v", err)
	}
}

// What cannot work through a pooler is refused at the start, with what to set.
func TestPoolerRefused(t *testing.T) {
	t.Parallel()
	through, statements := pgtest.Pool(t, "transaction"), pgtest.Pool(t, "statement")
	owner, app := pgtest.Migrated(t)
	_, other := pgtest.Migrated(t)
	for name, c := range map[string]struct {
		open func() error
		want error
	}{
		"statement mode": {opening(t, statements(app), ""), postgres.ErrStatementMode},
		"a direct address that is another pooler's": {opening(t, through(app), through(app)), postgres.ErrNotDirect},
		"a direct address of another database":      {opening(t, through(app), other), postgres.ErrOtherDatabase},
		"migrations":                                {func() error { return postgres.Migrate(t.Context(), through(owner)) }, postgres.ErrPooled},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.open(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func opening(t *testing.T, url, direct string) func() error {
	return func() error {
		s, err := postgres.Open(t.Context(), url, postgres.Options{Direct: direct})
		if err == nil {
			must(t, s.Close())
		}
		return err
	}
}
