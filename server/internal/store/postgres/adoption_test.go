package postgres_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// adopted is a database in which outreach.dol_errors is adopted, as far as nodes know.
func adopted(t *testing.T) (*postgres.Store, prompt) {
	t.Helper()
	s, owner, _ := governed(t)
	s.AddBlockers(adoption.Blockers())
	owner.run(`insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, state, begun_by)
		values ('outreach.dol_errors', 'outreach.dol_errors_2', 1, current_user, '{id}', '{"entity": "outreach_id", "disposition": "disposition", "archived_at": "archived_at"}', 'GOVERNED', 'ada')`)
	return s, owner
}

// rows are the statements of the slice.
func rows(t *testing.T, s *postgres.Store) *adoption.DB {
	t.Helper()
	db, err := adoption.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// One node has the turn at a time: it keeps it as long as it asks again, and what it does
// after another has taken it is refused.
func TestTurns(t *testing.T) {
	t.Parallel()
	s, owner := adopted(t)
	take := func(node string, lasts time.Duration) (adoption.Lease, bool) {
		turn, held, err := rows(t, s).TakeTurn(t.Context(), 1, node, lasts)
		if err != nil {
			t.Fatal(err)
		}
		return turn, held
	}
	first, held := take("a", time.Hour)
	if again, still := take("a", time.Hour); !held || !still || again != first {
		t.Errorf("got %v %v, then %v %v", first, held, again, still)
	}
	if _, held := take("b", time.Hour); held {
		t.Error("two nodes have a turn")
	}
	owner.run("insert into recoup.adopted_change (adoption_id, keys) values (1, '{7}')")
	take("a", -time.Second) // a sleeps
	second, held := take("b", time.Hour)
	if !held || second.Number <= first.Number {
		t.Errorf("b got %v %v", second, held)
	}
	changes, more, err := rows(t, s).Changes(t.Context(), 1, 10)
	if err != nil || more || len(changes) != 1 || changes[0].All || changes[0].Keys[0] != "7" {
		t.Fatalf("got %v %v", changes, err)
	}
	if err := rows(t, s).ForgetChanges(t.Context(), first, []int64{changes[0].ID}); !errors.Is(err, store.ErrOutOfTurn) || errors.Is(err, store.ErrRefused) {
		t.Errorf("a, out of turn: %v", err)
	}
	if err := rows(t, s).ForgetChanges(t.Context(), second, []int64{changes[0].ID}); err != nil {
		t.Error(err)
	}
	if err := rows(t, s).EndTurns(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	if _, held := take("a", time.Hour); !held {
		t.Error("nobody takes over from a node that has ended its turns")
	}
}

// A change that no node has looked at blocks the entities that it names, wherever the
// gate is asked, and the answer says which table it is.
func TestUnreadChangesBlock(t *testing.T) {
	t.Parallel()
	s, owner := adopted(t)
	owner.run("insert into recoup.adopted_change (adoption_id, keys, entities) values (1, '{7,8}', array[hashtextextended('CO-1', 0), hashtextextended('CO-2', 0)])")
	for _, entities := range [][]string{{"CO-1"}, {"CO-2", "CO-3", "CO-1"}} {
		found, err := s.Blocking(t.Context(), entities, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i, entity := range entities {
			if want := entity != "CO-3"; want != (len(found[i]) == 1) || want && (!found[i][0].ID.IsZero() || found[i][0].Table != "outreach.dol_errors" || found[i][0].CreatedAt.IsZero()) {
				t.Errorf("%s is blocked by %+v", entity, found[i])
			}
		}
	}
	if !ask[bool](owner, "select recoup.is_blocked('CO-1')") || ask[bool](owner, "select recoup.is_blocked('CO-3')") {
		t.Error("is_blocked does not know")
	}
	p := store.Promotion{ID: newRace(t, s).ids.New(conformance.Epoch()), Entity: "CO-1", Phase: "next", By: "ada"}
	if _, blockers, err := s.Promote(t.Context(), p); !errors.Is(err, store.ErrBlocked) || len(blockers) != 1 || blockers[0].Table != "outreach.dol_errors" || !blockers[0].ID.IsZero() {
		t.Errorf("got %v %v", blockers, err)
	}
	if got := ask[string](owner, "select unread::text from recoup.promote('CO-1', 'next')"); got != "{outreach.dol_errors}" {
		t.Errorf("promote says %s", got)
	}
	owner.run("update recoup.error_table set blocks = false where table_name = 'outreach.dol_errors'")
	if ask[bool](owner, "select recoup.is_blocked('CO-1')") {
		t.Error("a table that does not block blocks")
	}
	owner.run("update recoup.error_table set blocks = true where table_name = 'outreach.dol_errors'")
	owner.run("delete from recoup.adopted_change")
	if _, _, err := s.Promote(t.Context(), p); err != nil {
		t.Errorf("once it is read: %v", err)
	}
}

// Where nothing is adopted, the gate's question looks into an empty index and reads no
// table for it.
func TestGateWithoutAdoptions(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	owner.run("set enable_seqscan = off")
	statement := strings.NewReplacer("$1", "'CO-1'", "$2", "101").Replace(postgres.GateStatement(adoption.Blockers()))
	rows, err := owner.Query(t.Context(), "explain (analyze, costs off, timing off, summary off) "+statement, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	plan := strings.Join(lines, "\n")
	if err != nil || !strings.Contains(plan, "adopted_change_unindexed") || strings.Contains(plan, "Seq Scan") || !regexp.MustCompile(`error_table t \(never executed\)`).MatchString(plan) {
		t.Error(err, plan)
	}
}

// TestCompressedKeys notes changes whose keys are compressed already, as those of another table
// are. Their limit is that of what nodes read, and so is the size by which changes are read together.
func TestCompressedKeys(t *testing.T) {
	t.Parallel()
	s, owner := adopted(t)
	owner.run("create schema shop")
	owner.run("create table shop.packed (keys text[])")
	owner.run("alter table shop.packed alter keys set storage main")
	pack := func(size int) error {
		owner.run("truncate shop.packed")
		owner.run("insert into shop.packed select array_agg(repeat('x', $1)) from generate_series(1, 1000)", size)
		if n := ask[int](owner, "select pg_column_size(keys) from shop.packed"); n > 100*size {
			t.Fatalf("the keys have %d bytes: they are not compressed", n)
		}
		_, err := owner.Exec(t.Context(), "insert into recoup.adopted_change (adoption_id, keys) select 1, keys from shop.packed")
		return err
	}
	var server *pgconn.PgError
	if err := pack(5000); !errors.As(err, &server) || server.Code != "23514" || strings.Contains(server.Detail, "xxx") {
		t.Errorf("five megabytes: %v", err)
	}
	for range 2 {
		if err := pack(1000); err != nil {
			t.Fatal(err)
		}
	}
	list, more, err := rows(t, s).Changes(t.Context(), 1, 500)
	if err != nil || !more || len(list) != 1 || len(list[0].Keys) != 1000 {
		t.Errorf("read %d changes, more %v, %v", len(list), more, err)
	}
}
