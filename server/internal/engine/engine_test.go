package engine_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// The tables of spec 000, by the names the tests use.
const (
	dol       = "outreach.dol_errors"
	target    = "outreach.company_target_errors"
	people    = "people.people_errors"
	discovery = "company.url_discovery_failures"
	errorLog  = "public.shq_error_log"
	masterLog = "public.shq_master_error_log"
	orphans   = "public.shq_orphan_errors"
	letters   = "pipeline.dead_letters"
)

var (
	epoch = node.Epoch
	ada   = node.Ada
)

// world is a node as these tests use it.
type world struct {
	*node.Node
	sql func(statement string, args ...any) error // nil: the store takes none
}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(onSQLite(t))
	})
	t.Run("postgres", func(t *testing.T) { postgresOnly(t, test) })
}

func onSQLite(t *testing.T) *world { return &world{Node: node.On(t, node.SQLite(t))} }

// postgresOnly runs a test where plain SQL can write.
func postgresOnly(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	db, url := node.Postgres(t)
	test(&world{node.On(t, db), func(statement string, args ...any) error {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(t.Context(), statement, args...)
		return errors.Join(err, conn.Close(t.Context()))
	}})
}

// failing is a report of a plain failure.
func failing(table, entity, code string) recoup.Report {
	return recoup.Report{Table: table, EntityID: entity, Code: code}
}

// events returns the codes of what the ledger has, newest first.
func (w *world) events() []recoup.Code {
	w.Helper()
	var codes []recoup.Code
	for _, e := range w.Events() {
		codes = append(codes, e.Code)
	}
	return codes
}

// receipt makes a request harmless to repeat.
func (w *world) receipt(key, payload string) *store.Receipt {
	return &store.Receipt{Scope: "test", Key: key, Hash: sha256.Sum256([]byte(payload)), ExpiresAt: w.Now().Add(time.Hour)}
}

// wantFields holds an error to be a refusal of exactly these fields, which repeats
// none of the values.
func (w *world) wantFields(err error, values []string, fields ...string) {
	w.Helper()
	for _, field := range w.RefusedFields(err, fields...).Fields() {
		for _, value := range values {
			if strings.Contains(field.Message, value) {
				w.Errorf("%s repeats what was sent: %s", field.Field, field.Message)
			}
		}
	}
}

// claimOne waits for an error to be due and leases it.
func (w *world) claimOne(e recoup.Error) recoup.Error {
	w.Helper()
	if d := e.NextRetryAt.Sub(w.Now()); d > 0 {
		w.Wait(d)
	}
	claimed, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{Tables: []string{e.Table}, Worker: "w1", Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range claimed {
		if c.ID == e.ID {
			return c
		}
	}
	w.Fatalf("%v was not claimed", e.ID)
	return recoup.Error{}
}
