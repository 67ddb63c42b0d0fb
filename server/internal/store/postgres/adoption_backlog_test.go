package postgres_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// TestGateOverABacklog has changes wait that name 50,000 entities, as one COPY of so many
// rows would leave them, 500 to a change (RECOUP_SOAK=1: a million). Each of them is
// blocked from the first moment; once a node has indexed them, the gate's question reads
// as much of the database as if nobody waited, and who has been looked at goes on.
func TestGateOverABacklog(t *testing.T) {
	t.Parallel()
	s, owner := adopted(t)
	changes := 100
	if os.Getenv("RECOUP_SOAK") != "" {
		changes = 2000
	}
	owner.run("update recoup.adoption set indexed_to = 1000000") // so that they wait, as if many transactions had committed at once
	owner.run(fmt.Sprintf(`insert into recoup.adopted_change (adoption_id, numbers, entities)
		select 1, array_agg(n), array_agg(hashtextextended('CO-' || n, 0)) from generate_series(0, %d) n group by n / 500 order by n / 500`, 500*changes-1))
	entities := []string{"CO-0", fmt.Sprintf("CO-%d", 250*changes), fmt.Sprintf("CO-%d", 500*changes-1), "CO-none"}
	blocked := func(want ...bool) {
		t.Helper()
		found, err := s.Blocking(t.Context(), entities, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i, entity := range entities {
			if got := ask[bool](owner, "select recoup.is_blocked('"+entity+"')"); got != want[i] || want[i] != (len(found[i]) == 1) {
				t.Errorf("%s is blocked: %v, by %v; want %v", entity, got, found[i], want[i])
			}
		}
	}
	blocked(true, true, true, false)
	turn, _, err := rows(t, s).TakeTurn(t.Context(), 1, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	whole := gateReads(t, owner, "CO-none")
	for left := changes; left > 0; {
		n, err := rows(t, s).IndexChanges(t.Context(), 1, 20_000)
		if left -= n; err != nil || n != min(40, left+n) {
			t.Fatalf("%d changes indexed, %d left, %v", n, left, err)
		}
		blocked(true, true, true, false)
	}
	if n, err := rows(t, s).IndexChanges(t.Context(), 1, 20_000); n != 0 || err != nil {
		t.Errorf("indexed %d again, %v", n, err)
	}
	owner.run("vacuum analyze recoup.adopted_change, recoup.adopted_entity")
	if reads := gateReads(t, owner, "CO-none"); reads > 20 || whole < 100 {
		t.Errorf("the gate reads %d pages once the backlog is indexed, %d before", reads, whole)
	}
	list, more, err := rows(t, s).Changes(t.Context(), 1, 500)
	if err != nil || !more || len(list) == 0 || len(list) > 20 || len(list[0].Keys) != 500 {
		t.Fatalf("got %d changes, more %v, %v", len(list), more, err)
	}
	if err := rows(t, s).ForgetChanges(t.Context(), turn, []int64{list[0].ID}); err != nil {
		t.Fatal(err)
	}
	blocked(false, true, true, false)
}

// gateReads is how many pages the gate's question about an entity reads, whichever way.
func gateReads(t *testing.T, owner prompt, entity string) int {
	t.Helper()
	statement := strings.NewReplacer("$1", "'"+entity+"'", "$2", "101").Replace(postgres.GateStatement(adoption.Blockers()))
	rows, err := owner.Query(t.Context(), "explain (analyze, buffers, format json) "+statement, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// TestGateOverAHostileBacklog has the owner of an adopted table insert changes that no trigger
// would write, 1,000 entities to each (RECOUP_SOAK=1: 33,000 changes). Some come from
// transactions that import an old snapshot and do not see what is there. No node indexes them.
// Each entity is blocked, and the gate reads a limited number of pages.
func TestGateOverAHostileBacklog(t *testing.T) {
	t.Parallel()
	s, owner := adopted(t)
	shop := "shop_" + owner.Config().Database
	owner.run("create role " + shop + " login")
	owner.run("grant usage on schema recoup to " + shop)
	owner.run("grant insert (adoption_id, keys, numbers, uuids, entities) on recoup.adopted_change to " + shop)
	owner.run("update recoup.adoption set owner = $1", shop)
	table, old := role(t, owner, shop), role(t, owner, shop)
	changes := 400
	if os.Getenv("RECOUP_SOAK") != "" {
		changes = 33_000
	}
	const insert = `insert into recoup.adopted_change (adoption_id, numbers, entities)
		select 1, array[c], array(select hashtextextended('CO-' || n, 0) from generate_series(1000 * c, 1000 * c + 999) n) from generate_series(%d, %d) c`
	old.run("begin isolation level repeatable read")
	snapshot := ask[string](old, "select pg_export_snapshot()")
	table.run(fmt.Sprintf(insert, 0, changes-101))
	for n := changes - 100; n < changes; n += 10 {
		table.run("begin isolation level repeatable read")
		table.run("set transaction snapshot '" + snapshot + "'")
		table.run(fmt.Sprintf(insert, n, n+9))
		table.run("commit")
	}
	table.run("insert into recoup.adopted_change (adoption_id, entities) values (1, array[hashtextextended('CO-all', 0)])")
	old.run("rollback")
	for _, entity := range []string{"CO-0", "CO-49999", fmt.Sprintf("CO-%d", 500*changes), fmt.Sprintf("CO-%d", 1000*changes-1), "CO-all"} {
		if found, err := s.Blocking(t.Context(), []string{entity}, 100); err != nil || len(found[0]) != 1 || !ask[bool](owner, "select recoup.is_blocked('"+entity+"')") {
			t.Errorf("%s is blocked by %v, %v", entity, found, err)
		}
	}
	if n := ask[int](owner, "select coalesce(sum(cardinality(entities)), 0) from recoup.adopted_change"); n > 200_000 {
		t.Errorf("the gate reads %d entities that are not indexed", n)
	}
	for name, reads := range map[string]int{"an entity that no change names": gateReads(t, owner, "CO-none"), "an entity": gateReads(t, owner, fmt.Sprintf("CO-%d", 500*changes))} {
		if reads > 600 {
			t.Errorf("the gate of %s reads %d pages", name, reads)
		}
	}
}

// TestOpenTransactionsHaveALimit has the owner of an adopted table note changes in transactions that
// stay open, while nodes index, read and pass what others note. None of them gets another thousand
// unindexed changes each time. One that is left open costs other writers nothing: it is passed,
// and indexes the rest itself.
func TestOpenTransactionsHaveALimit(t *testing.T) {
	t.Parallel()
	s, owner := adopted(t)
	shop := "shop_" + owner.Config().Database
	owner.run("create role " + shop + " login")
	owner.run("grant usage on schema recoup to " + shop)
	owner.run("grant insert (adoption_id, keys, numbers, uuids, entities) on recoup.adopted_change to " + shop)
	owner.run("update recoup.adoption set owner = $1", shop)
	turn, _, err := rows(t, s).TakeTurn(t.Context(), 1, "a", time.Hour)
	must(t, err)
	const insert = "insert into recoup.adopted_change (adoption_id, numbers, entities) select 1, array[n], array[n] from generate_series(1, %d) n"
	other := role(t, owner, shop)
	node := func() { // reads what another transaction has noted, and indexes
		t.Helper()
		other.run(fmt.Sprintf(insert, 1))
		_, err := rows(t, s).IndexChanges(t.Context(), 1, 50_000)
		must(t, err)
		list, _, err := rows(t, s).Changes(t.Context(), 1, 500)
		must(t, err)
		must(t, rows(t, s).ForgetChanges(t.Context(), turn, []int64{list[0].ID}))
		must(t, rows(t, s).PassChanges(t.Context()))
		must(t, rows(t, s).PassChanges(t.Context()))
	}
	unindexed := func(p prompt) int {
		return ask[int](p, "select count(*) from recoup.adopted_change where entities is not null")
	}
	owner.run("grant select on recoup.adopted_change to " + shop)
	age := func() { owner.run("update recoup.change_pass set since = since - interval '1 minute'") }
	node()
	var open []prompt
	for range 6 {
		held := role(t, owner, shop)
		held.run("begin")
		for range 6 {
			held.run(fmt.Sprintf(insert, 400))
			node()
		}
		open = append(open, held)
		if n := unindexed(held); n > 1000 || len(open) == 1 && n == 0 {
			t.Errorf("transaction %d has %d unindexed changes", len(open), n)
		}
		if len(open) == 1 {
			age()
			node()
			before := unindexed(held)
			held.run(fmt.Sprintf(insert, 10))
			if n := unindexed(held) - before; n != 0 {
				t.Errorf("a transaction that was passed has %d more unindexed changes", n)
			}
		}
		other.run(fmt.Sprintf(insert, 10))
		if n := unindexed(other); n != 10 && len(open) == 1 {
			t.Errorf("another writer has %d unindexed changes of 10", n)
		}
		age()
		node()
		node()
	}
	for _, held := range open {
		held.run("commit")
	}
	if n := unindexed(owner); n == 0 || n > 5000 {
		t.Errorf("the gate reads %d changes that are not indexed", n)
	}
	node()
	other.run(fmt.Sprintf(insert, 10))
	if n := unindexed(owner); n != 10 {
		t.Errorf("%d changes of 10 are not indexed", n)
	}
}
