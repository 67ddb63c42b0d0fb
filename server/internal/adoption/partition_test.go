package adoption_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// partitioned is a table with a partition and a partition of a partition, of a role that is not the
// owner of the schema recoup.
const partitioned = `create role shop_owner; grant shop_owner to recoup_owner; create schema shop authorization shop_owner; set role shop_owner;
	create table shop.failures (id int primary key, order_id text, kind text) partition by range (id);
	create table shop.failures_1 partition of shop.failures for values from (0) to (10);
	create table shop.failures_2 partition of shop.failures for values from (10) to (30) partition by range (id);
	create table shop.failures_2a partition of shop.failures_2 for values from (10) to (20);
	insert into shop.failures values (1, 'a', 'NETWORK_TIMEOUT'), (11, 'b', 'NETWORK_TIMEOUT'); reset role`

func newPartitioned(t *testing.T) *world {
	t.Helper()
	w := openWorldOf(t)
	w.exec(strings.ReplaceAll(partitioned, "shop_owner", "shop_"+w.owner.Config().Database))
	w.adopt(wire.Mapping{Entity: "order_id", Code: "kind"})
	w.settle()
	return w
}

// look has the node look at partitions again.
func (w *world) look() {
	w.Helper()
	w.later(time.Minute)
	w.settle()
	w.settle()
}

// inspected is what the doctor reads of the adoption.
func (w *world) inspected() adoption.Fact {
	w.Helper()
	f, err := w.db.Inspect(w.Context(), store.Inspection{})
	w.Must(err)
	if len(adoption.FactsOf(&f)) != 1 {
		w.Fatalf("adoptions: %+v, unseen: %+v", adoption.FactsOf(&f), f.Unseen)
	}
	return adoption.FactsOf(&f)[0]
}

const openErrors = "select string_agg(entity_id, ' ' order by entity_id) from recoup.error where state <> 'RESOLVED'"

// TestPartitionsThatCome creates and attaches partitions, also of a partition, and writes to them
// directly. The node adds their triggers, as their owner, and reads their rows. The next 'recoup adopt
// --apply' finds nothing to do.
func TestPartitionsThatCome(t *testing.T) {
	t.Parallel()
	w := newPartitioned(t)
	w.want(openErrors, "a b")
	role := "set role shop_" + w.owner.Config().Database + "; "
	w.exec(role + `create table shop.failures_2b partition of shop.failures_2 default;
		create table shop."Failures 3" (like shop.failures including all); insert into shop."Failures 3" values (31, 'c', 'NETWORK_TIMEOUT');
		alter table shop.failures attach partition shop."Failures 3" for values from (30) to (40); reset role`)
	if missing := w.inspected().Missing; len(missing) != 8 {
		t.Errorf("missing before a node has looked: %q", missing)
	}
	w.look()
	w.want(openErrors, "a b c")
	w.exec(role + `insert into shop.failures_2b values (21, 'd', 'NETWORK_TIMEOUT'); insert into shop."Failures 3" values (32, 'e', 'NETWORK_TIMEOUT'); reset role`)
	w.settle()
	w.want(openErrors, "a b c d e")
	if f := w.inspected(); len(f.Missing) > 0 || f.Partitions != 5 || len(f.Altered) > 0 {
		t.Errorf("%+v", f)
	}
	w.want("select cardinality(partitions), unseen, unseen_since, state from recoup.adoption", "5 [] - GOVERNED")
	w.adopt(wire.Mapping{})
	w.settle()
	w.want("select state from recoup.adoption", "GOVERNED")
	w.exec(role + `drop table shop.failures_2b; create table shop.failures_2b partition of shop.failures_2 default; reset role`)
	w.adopt(wire.Mapping{}) // the partition has the name of one that had triggers
	if f := w.inspected(); len(f.Missing) > 0 {
		t.Errorf("%q", f.Missing)
	}
	w.exec(role + "alter table shop.failures_1 disable trigger adopted_1_insert; reset role") // the owner's decision stands
	w.look()
	w.adopt(wire.Mapping{})
	if f := w.inspected(); len(f.Missing) != 1 || !f.UnseenSince.IsZero() {
		t.Errorf("%+v", f)
	}
	w.release("shop.failures")
	w.want("select count(*) from pg_trigger where tgname ~ 'adopted_'", "0")
}

// TestPartitionsThatGo detaches and drops partitions: the errors of their rows are resolved. A partition that comes
// back with its triggers has its rows read again.
func TestPartitionsThatGo(t *testing.T) {
	t.Parallel()
	w := newPartitioned(t)
	role := "set role shop_" + w.owner.Config().Database + "; "
	w.exec(role + "alter table shop.failures detach partition shop.failures_1; reset role")
	w.look()
	w.want(openErrors, "b")
	w.exec(role + "insert into shop.failures_1 values (2, 'f', 'NETWORK_TIMEOUT'); alter table shop.failures attach partition shop.failures_1 for values from (0) to (10); reset role")
	w.look()
	w.want(openErrors, "a b f")
	w.exec(role + "drop table shop.failures_2; reset role")
	w.look()
	w.want(openErrors, "a f")
	w.want("select partitions from recoup.adoption", `["shop.failures_1"]`)
}

// TestPartitionsThatNobodyMayTouch creates a partition whose triggers the node cannot add, because it
// belongs to another role. That is noted with the reason until it changes. Other rows are governed
// meanwhile.
func TestPartitionsThatNobodyMayTouch(t *testing.T) {
	t.Parallel()
	w := newPartitioned(t)
	w.exec("create table shop_other (id int, order_id text, kind text)")
	role := "shop_" + w.owner.Config().Database
	super, err := pgx.Connect(t.Context(), strings.Replace(w.url, "recoup_owner@", "postgres@", 1))
	w.Must(err)
	t.Cleanup(func() { _ = super.Close(t.Context()) })
	run := func(sql string) {
		t.Helper()
		_, err := super.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		w.Must(err)
	}
	run("create table shop.theirs partition of shop.failures default; create table shop.theirs_2 partition of shop.failures for values from (70) to (80); alter table shop.theirs owner to postgres")
	run("alter table shop.theirs_2 owner to " + role)
	w.look()
	w.want("select unseen, unseen_why, unseen_since is not null from recoup.adoption", `["shop.theirs"] permission denied for table theirs true`)
	list, err := w.rows.Adoptions(t.Context())
	w.Must(err)
	if a := list[0]; a.Partitions != 5 || len(a.Unseen) != 1 || a.UnseenSince.IsZero() || a.UnseenReason == "" {
		t.Errorf("%+v", a.Adoption)
	}
	if f := w.inspected(); f.Partitions != 5 || f.UnseenSince.IsZero() || f.UnseenWhy == "" {
		t.Errorf("%+v", f)
	}
	w.exec("insert into shop.failures values (71, 'g', 'NETWORK_TIMEOUT')")
	w.settle()
	w.want(openErrors, "a b g")
	run("alter table shop.theirs owner to " + role)
	w.look()
	w.want("select unseen, unseen_why, unseen_since from recoup.adoption", "[] - -")
	plan, err := define.MakePlan(w.Context(), w.owner, define.Request{Source: "shop.failures"})
	w.Must(err)
	for _, s := range plan.Steps {
		if strings.Contains(s.Name, "theirs") {
			t.Errorf("a step that is done: %+v", s)
		}
	}
}

// openWorldOf is a world without tables.
func openWorldOf(t *testing.T) *world {
	t.Helper()
	db, url := node.Postgres(t)
	return openWorld(t, db, url)
}
