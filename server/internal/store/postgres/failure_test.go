package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Errors say what happened and nothing of the connection.
func TestFailuresKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://eve:hunter2@127.0.0.1:1/vault?sslmode=disable&connect_timeout=5", // nobody listens
		"postgres://eve:hunter2@/vault?host=/nonexistent/socket",
		"postgres://eve:hunter2@[::1/vault", // not an address
		"host=vault password=hunter2 port=x",
	} {
		_, err := postgres.Open(t.Context(), address, postgres.Options{})
		_, statusErr := postgres.Status(t.Context(), address, "")
		for _, err := range []error{err, statusErr, postgres.Migrate(t.Context(), address)} {
			if err == nil {
				t.Fatalf("%s: connected", address)
			}
			for _, secret := range []string{"hunter2", "eve", "vault"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("tells %q: %v", secret, err)
				}
			}
		}
	}
}

// A database that is not there is worth another try; nothing was sent.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres://eve@/vault?host=/nonexistent/socket", postgres.Options{})
	if verdict := fault.Classify(err); verdict.Code != "DATABASE_CONNECTION_ERROR" || !verdict.Retryable() {
		t.Errorf("%v is %+v", err, verdict)
	}
}

// A connection that is lost at the commit leaves the outcome open.
func TestLostAtCommit(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	d := conformance.NewDriver(t, s)
	script(t, owner.Conn, `
		create function cut() returns trigger language plpgsql as
			'begin perform pg_terminate_backend(pg_backend_pid()); return null; end';
		create constraint trigger cut after insert on recoup.error
			deferrable initially deferred for each row execute function cut()`)
	_, err := s.Report(t.Context(), d.Now(), []store.Report{{Table: dol, Entity: "e", Code: "NETWORK_TIMEOUT",
		Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(d.Policy, current, d.Failing(dol, "e", "NETWORK_TIMEOUT", ""), d.Now())
		}}})
	if verdict := fault.Classify(err); err == nil || verdict.Code != "OUTCOME_UNKNOWN" {
		t.Errorf("%v is %s", err, verdict.Code)
	}
}

// The guards' refusals arrive as ErrRefused, with the guard's own words and
// without the row.
func TestRefused(t *testing.T) {
	t.Parallel()
	s, _, _ := governed(t)
	d := conformance.NewDriver(t, s)
	e := d.Report(dol, "secret-entity", "NETWORK_TIMEOUT", recoup.Medium)
	for name, wrong := range map[string]func(e *recoup.Error){
		"blocking":   func(e *recoup.Error) { e.Blocking = false },
		"code":       func(e *recoup.Error) { e.Code = "OTHER" },
		"more":       func(e *recoup.Error) { e.RetryCount = e.MaxRetries + 1 },
		"tier":       func(e *recoup.Error) { e.EscalationLevel = 4 },
		"reasonless": func(e *recoup.Error) { e.State, e.Disposition = recoup.Parked, recoup.DispositionParked },
	} {
		_, err := s.ApplySteps(t.Context(), d.Now(), []store.Step{{ID: e.ID, Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			next := *current
			wrong(&next)
			return next, lifecycle.Effects{}, nil
		}}})
		if !errors.Is(err, store.ErrRefused) || strings.Contains(err.Error(), "secret-entity") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.Check()
}

// A row that somebody holds makes a verb busy, and leaves it undone.
func TestBusy(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	d := conformance.NewDriver(t, s)
	e := d.Report(dol, "e", "NETWORK_TIMEOUT", recoup.Medium)
	impatient, err := postgres.Open(t.Context(), app.Config().ConnString(), postgres.Options{LockTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = impatient.Close() })
	app.run("begin")
	app.run("select from recoup.error where error_id = $1 for update", e.ID[:])
	asked := 0
	_, err = impatient.ApplySteps(t.Context(), d.Now(), []store.Step{{ID: e.ID, Decide: func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
		asked++
		return recoup.Error{}, lifecycle.Effects{}, errors.New("asked")
	}}})
	if !errors.Is(err, store.ErrBusy) || asked != 0 {
		t.Errorf("got %v, asked %d times", err, asked)
	}
	if verdict := fault.Classify(err); !verdict.Retryable() {
		t.Errorf("busy is %+v", verdict)
	}
	app.run("rollback")
	d.Check()
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	s, _, _ := governed(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Counts(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Report(ctx, conformance.Epoch(), []store.Report{{Table: dol, Entity: "e", Code: "X"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Every column of the tables is read and written, and no other.
func TestColumns(t *testing.T) {
	t.Parallel()
	owner, _ := pgtest.Migrated(t)
	p := at(t, owner)
	errs, archive := postgres.ErrorColumnNames()
	for table, got := range map[string][]string{"error": errs, "error_archive": archive} {
		want := ask[[]string](p, `select array_agg(column_name::text order by column_name::text collate "C") from information_schema.columns
			where table_schema = 'recoup' and table_name = $1 and column_name !~ '^(end|was)_'`, table) // which the archive carries of the history
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("recoup.%s has %v, known are %v", table, want, got)
		}
	}
}

// History is written also in a month that nobody has prepared.
func TestUnpreparedMonth(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	d := conformance.NewDriver(t, s)
	e := d.Report(dol, "e", "NETWORK_TIMEOUT", recoup.Medium)
	later := conformance.Epoch().AddDate(0, 5, 0)
	_, err := s.ApplySteps(t.Context(), later, []store.Step{{ID: e.ID, Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(d.Policy, current, lifecycle.ArchiveNow{By: "ada", Reason: "late"}, later)
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask[int](app, "select count(*) from recoup.error_history where error_id = $1", e.ID[:]); got != 2 {
		t.Errorf("%d rows", got)
	}
}
