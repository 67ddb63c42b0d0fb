package scheduler_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// A leader that slept past its term writes nothing when it wakes, whatever job it is at:
// every job, with something to do, is refused, and no row of any table has changed. Under
// the term of its successor each of them goes through.
func TestJobsAreFenced(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := node.File(t)
		db, err := sql.Open("sqlite", path)
		fenced(t, sqlitetest.OpenFile(t, path), db, err, `select name from sqlite_master where type = 'table' order by 1`, "rollups") // it counts as it writes, and has none to fold
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s, owner := node.PostgresOwned(t)
		db, err := sql.Open("pgx", owner)
		fenced(t, s, db, err, `select oid::regclass::text from pg_class where relkind = 'r' and relnamespace in ('recoup'::regnamespace, 'cl'::regnamespace) order by 1`)
	})
}

func fenced(t *testing.T, s database, db *sql.DB, err error, tables string, idle ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{node.On(t, s)}
	w.backlog()
	asleep := w.lead("a")
	w.Wait(2 * scheduler.DefaultTenure)
	awake := w.lead("b")
	jobs := scheduler.All(scheduler.Parts{Store: w.DB, Engine: w.Engine, Policy: w.Engine.Policies.Current, Alerts: w.Alerts.Run, Jobs: gateZero(w.DB.SQL())})
	before := contents(w, db, tables)
	for _, j := range jobs {
		_, _, err := j.Chunk(store.UnderTerm(w.Context(), asleep), scheduler.Run{Now: w.Now(), Term: asleep})
		if !errors.Is(err, store.ErrTermOver) && !errors.Is(err, store.ErrRefused) && !slices.Contains(idle, j.Name) {
			w.Errorf("%s, after its term: %v", j.Name, err)
		}
		after := contents(w, db, tables)
		for table := range before {
			if after[table] != before[table] {
				w.Errorf("%s has changed %s after its term", j.Name, table)
			}
		}
		if len(after) != len(before) {
			w.Errorf("%s has made or dropped a table after its term", j.Name)
		}
		before = after
	}
	for _, j := range jobs {
		if _, _, err := j.Chunk(store.UnderTerm(w.Context(), awake), scheduler.Run{Now: w.Now(), Term: awake}); err != nil {
			w.Errorf("%s, within its term: %v", j.Name, err)
		}
	}
	if after := contents(w, db, tables); maps.Equal(before, after) {
		w.Error("nothing was to be done at all")
	}
}

// lead begins a term.
func (w *world) lead(name string) store.Term {
	w.Helper()
	term, held, err := w.DB.Lead(w.Context(), store.Bid{Name: scheduler.Leadership, Node: name, Tenure: scheduler.DefaultTenure})
	if err != nil || !held {
		w.Fatalf("%s does not lead: %v", name, err)
	}
	return term
}

// backlog leaves every job something to do: it lets years pass in which nobody led.
func (w *world) backlog() {
	w.Helper()
	w.processed()
	w.parked("parked")
	w.delivered()
	w.Act(engine.Act{ID: w.retrying("resolved"), Input: lifecycle.Resolve{Reason: "done"}})
	w.Act(engine.Act{ID: w.retrying("archived"), Input: lifecycle.ArchiveNow{Reason: "done"}})
	w.batch()
	w.leased()
	w.retrying("window")
	w.Wait(2 * 365 * day)
	w.parked("operated on")
	o, err := w.Engine.Freeze(w.Context(), node.Ada, engine.NewOperation{Act: "review", Filter: store.Filter{Table: dol, Entity: "operated on"}})
	w.Must(err)
	_, err = w.Engine.Confirm(w.Context(), node.Ada, o.ID, recoup.Act{Reason: "seen"})
	w.Must(err)
}

// contents returns the rows of each table, as text.
func contents(w *world, db *sql.DB, tables string) map[string]string {
	w.Helper()
	found := map[string]string{}
	for _, table := range texts(w, db, tables) {
		found[table] = strings.Join(texts(w, db, "select * from "+table), "\n")
	}
	return found
}

// texts returns the rows of an answer, in the order of their text.
func texts(w *world, db *sql.DB, query string) (list []string) {
	w.Helper()
	rows, err := db.QueryContext(context.Background(), query)
	w.Must(err)
	defer func() { w.Must(rows.Close()) }()
	columns, err := rows.Columns()
	w.Must(err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		w.Must(rows.Scan(into...))
		for i, v := range values {
			if at, is := v.(time.Time); is {
				values[i] = at.UTC()
			}
		}
		list = append(list, strings.Trim(fmt.Sprint(values...), " "))
	}
	w.Must(rows.Err())
	slices.Sort(list)
	return list
}
