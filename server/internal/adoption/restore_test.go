package adoption_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// messy are tables as people have them: names that need quotation marks, a composite key, partitions,
// types of their owner, no key at all, an own column disposition, and the table of a queue.
var messy = []struct {
	source, as, preset string
	mapping            wire.Mapping
	insert             string // a failed row of the entity %s
	disposition        string // column in which Recoup writes
}{
	{
		source: `"Shop Floor"."Failed Orders"`, as: "outreach.dol_errors", mapping: wire.Mapping{Entity: "orderId", Code: "Error Code"}, disposition: "disposition",
		insert: `insert into "Shop Floor"."Failed Orders" ("orderId", "Error Code") values ('%s', 'VALIDATION_ERROR')`,
	},
	{
		source: "shop.lines", as: "outreach.company_target_errors", mapping: wire.Mapping{Entity: "order_id", Code: "code"}, disposition: "disposition",
		insert: "insert into shop.lines select 'eu', coalesce(max(no), 0) + 1, '%s', 'VALIDATION_ERROR' from shop.lines",
	},
	{
		source: "shop.parts", as: "people.people_errors", mapping: wire.Mapping{Entity: "order_id", Code: "code"}, disposition: "disposition",
		insert: "insert into shop.parts select coalesce(max(id), 0) + 1, '2026-01-01', '%s', 'VALIDATION_ERROR' from shop.parts",
	},
	{
		source: "shop.typed", as: "company.url_discovery_failures", mapping: wire.Mapping{Entity: "order_id", Code: "code", Severity: "lvl", Message: "data->>'why'", ResolvedWhen: "lvl = 'low'"}, disposition: "disposition",
		insert: `insert into shop.typed (order_id, lvl, data, code) values ('%s', 'high', '{"why": "no answer"}', 'VALIDATION_ERROR')`,
	},
	{
		source: "shop.keyless", as: "public.shq_error_log", mapping: wire.Mapping{Entity: "order_id", Code: "code"}, disposition: "disposition",
		insert: "insert into shop.keyless (order_id, code) values ('%s', 'VALIDATION_ERROR')",
	},
	{
		source: "shop.mine", as: "public.shq_orphan_errors", mapping: wire.Mapping{Entity: "order_id", Code: "code"}, disposition: "recoup_disposition",
		insert: "insert into shop.mine (id, order_id, code) select coalesce(max(id), 0) + 1, '%s', 'VALIDATION_ERROR' from shop.mine",
	},
	{
		source: "shop.river_job", as: "public.shq_master_error_log", preset: "river", mapping: wire.Mapping{Entity: "args->>'order'"},
		insert: `insert into shop.river_job (state, attempt, max_attempts, finalized_at, args, kind) values ('discarded', 3, 3, '2026-02-02 08:59Z', '{"order": "%s"}', 'charge')`,
	},
}

const messyTables = `create schema "Shop Floor";
	create table "Shop Floor"."Failed Orders" ("Id" bigint generated always as identity primary key, "orderId" text, "Error Code" text);
	create table shop.lines (region text, no int, order_id text, code text, primary key (region, no));
	create table shop.parts (id bigint, day date, order_id text, code text, primary key (id, day)) partition by range (day);
	create table shop.parts_1 partition of shop.parts for values from ('2020-01-01') to ('2026-01-01');
	create table shop.parts_2 partition of shop.parts for values from ('2026-01-01') to ('2040-01-01');
	create type shop.level as enum ('low', 'high'); create domain shop.order_no as text check (value <> '');
	create table shop.typed (id uuid primary key default gen_random_uuid(), order_id shop.order_no, lvl shop.level, data jsonb, code text);
	create table shop.keyless (order_id text, code text);
	create table shop.mine (id int primary key, order_id text, disposition text default 'mine', archived_at text, code text)`

// messyWorld has all of them adopted, with a row of the entities old-0, old-1 … each.
func messyWorld(t *testing.T, server *pgtest.Server) *world {
	t.Helper()
	db, url := node.PostgresAt(t, server)
	w := newWorldOn(t, db, url)
	w.exec(messyTables)
	w.exec(presettest.Queues[0].DDL)
	for i, m := range messy {
		w.exec(fmt.Sprintf(m.insert, fmt.Sprintf("old-%d", i)))
		plan, err := define.MakePlan(w.Context(), w.owner, define.Request{Source: m.source, As: m.as, Mapping: m.mapping, Preset: m.preset, NoMirror: m.preset != ""})
		w.Must(err)
		if len(plan.Refusals) > 0 {
			w.Fatalf("%s is refused: %v", m.source, plan.Refusals)
		}
		w.Must(w.runner().Apply(w.Context(), plan))
	}
	w.settle()
	for i := range messy {
		w.want(fmt.Sprintf("select count(*) from recoup.error where entity_id = 'old-%d'", i), "1")
	}
	w.Must(w.owner.Close(w.Context())) // nobody may be connected to a database that is copied
	w.Must(db.Close())
	return w
}

// openCopy is the world on a copy of its database.
func openCopy(t *testing.T, ownerURL string) *world {
	t.Helper()
	url := strings.Replace(ownerURL, "recoup_owner@", "recoup_app@", 1)
	return openWorld(t, pgtest.OpenURL(t, url), url)
}

// facts are what the doctor sees of adoptions. Nothing but their logins may be wrong.
func (w *world) facts(login adoption.Login) (list []adoption.Fact) {
	w.Helper()
	found, err := w.db.Inspect(w.Context(), store.Inspection{Policy: w.Policies.Current(), Now: w.Now()})
	w.Must(err)
	if len(adoption.FactsOf(&found)) != len(messy) {
		w.Errorf("%d adoptions", len(adoption.FactsOf(&found)))
	}
	for _, a := range adoption.FactsOf(&found) {
		if a.Gone || a.Renamed != "" || a.Given || len(a.Missing)+len(a.Altered)+len(a.Lost)+len(a.Lacks) > 0 || a.Login != login || login == "" && a.Unreachable != "" {
			w.Errorf("%s: %+v, want login %q", a.Source, a, login)
		}
	}
	return adoption.FactsOf(&found)
}

// governed wants all tables to be governed: a row that fails is reported and blocks as before, the
// row shows what the policy decides, and a row that is gone resolves its error. Released tables
// have nothing left.
func (w *world) governed() {
	w.Helper()
	blocked := func(entity string, i int) string { return fmt.Sprintf("select recoup.is_blocked('%s-%d')", entity, i) }
	for i, m := range messy {
		w.want(blocked("old", i), fmt.Sprint(i < 3)) // those whose tables block
		w.exec(fmt.Sprintf(m.insert, fmt.Sprintf("new-%d", i)))
		w.want(blocked("new", i), fmt.Sprint(i < 3))
	}
	w.settle()
	for i, m := range messy {
		w.want(fmt.Sprintf("select table_name, count(*) from recoup.error where entity_id in ('old-%[1]d', 'new-%[1]d') group by 1", i), m.as+" 2")
		w.want(blocked("new", i), fmt.Sprint(i < 3))
		if m.disposition != "" && i < 3 {
			w.want(fmt.Sprintf("select distinct %s from %s", m.disposition, m.source), "PARKED")
		}
		w.exec("delete from " + m.source)
	}
	w.settle()
	for i, m := range messy {
		if m.preset == "" { // the table of the other keeps its errors for ever
			w.want(fmt.Sprintf("select count(*) from recoup.error where entity_id in ('old-%[1]d', 'new-%[1]d') and state <> 'RESOLVED'", i), "0")
		}
		_, err := w.runner().Release(w.Context(), m.source)
		w.Must(err)
	}
	w.settle()
	w.want("select count(*) from recoup.adoption", "0")
	w.want("select tgname from pg_trigger where starts_with(tgname, 'adopted_')", "")
	w.want("select attname from pg_attribute where attname in ('recoup_disposition', 'recoup_key') and not attisdropped", "")
}

func (w *world) repairRoles() {
	w.Helper()
	for _, m := range messy {
		w.Must(w.runner().RepairRole(w.Context(), m.source))
	}
}

// TestAdoptionsSurviveARestore dumps a database with adopted tables and restores it on another
// server, which does not have the login roles.
func TestAdoptionsSurviveARestore(t *testing.T) {
	t.Parallel()
	from, to := pgtest.StartDumpable(t, pgtest.Options{}), pgtest.Start(t, pgtest.Options{})
	original := messyWorld(t, from)
	to.Migrated(t) // makes the roles of nodes
	restored := to.New(t)
	for line := range strings.Lines(pgtest.Restore(t, original.url, restored)) {
		if !strings.Contains(line, "ERROR:  role \"recoup_adopter_") {
			t.Errorf("the restore says %s", line)
		}
	}
	w := openCopy(t, restored)
	for _, a := range w.facts(adoption.LoginForeign) {
		if !strings.Contains(a.Unreachable, "does not exist") {
			t.Errorf("%s is reached: %s", a.Source, a.Unreachable)
		}
	}
	w.repairRoles()
	w.facts("")
	w.governed()
}

// TestAdoptionsSurviveACopy copies a database with adopted tables on its server, as branches are
// made. The copy gets login roles of its own, and releasing its tables leaves those of the original.
func TestAdoptionsSurviveACopy(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	original := messyWorld(t, server)
	w := openCopy(t, server.Copy(t, original.url))
	roles := "select count(*) from pg_roles where starts_with(rolname, 'recoup_adopter_') and rolcanlogin"
	w.want(roles, "7")
	var former []string
	for _, a := range w.facts(adoption.LoginForeign) {
		former = append(former, a.Role)
	}
	w.repairRoles()
	for _, a := range w.facts("") {
		if slices.Contains(former, a.Role) {
			t.Errorf("%s still uses the role %s of the original", a.Source, a.Role)
		}
	}
	w.governed()
	w.want(roles, "7") // those of the original
	openCopy(t, original.url).governed()
}

// TestAdoptionsSurviveAnUpgrade moves a server with adopted tables to another one with pg_upgrade.
func TestAdoptionsSurviveAnUpgrade(t *testing.T) {
	t.Parallel()
	server := pgtest.StartUpgradable(t, pgtest.Options{})
	original := messyWorld(t, server)
	_, url := server.Upgrade(t, original.url)
	w := openCopy(t, url)
	w.facts("")
	w.governed()
}

// TestRemake removes objects of an adoption, as a restore of an older version does that cannot
// create them: they are made anew, and what was written meanwhile is found.
func TestRemake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("insert into shop.failures (order_id, kind, at) values ('a', 'VALIDATION_ERROR', '2026-02-02'), ('b', 'VALIDATION_ERROR', '2026-02-02')")
	w.adopt(mapping)
	w.settle()
	w.exec("drop view recoup.adopted_1_recoup_release_first cascade; drop view recoup.adopted_1_source")
	facts, err := w.db.Inspect(w.Context(), store.Inspection{})
	w.Must(err)
	if missing := adoption.FactsOf(&facts)[0].Missing; !slices.Contains(missing, "view recoup.adopted_1_source") {
		t.Errorf("missing: %q", missing)
	}
	w.exec("insert into shop.failures (order_id, kind, at) values ('c', 'VALIDATION_ERROR', '2026-02-02'); delete from shop.failures where order_id = 'a'")
	w.settle()
	const open = "select entity_id from recoup.error where state <> 'RESOLVED' order by 1"
	w.want(open, "a\nb")
	w.Must(w.runner().Remake(context.WithoutCancel(w.Context()), "shop.failures"))
	w.settle()
	w.want(open, "b\nc")
	w.want("select disposition from shop.failures order by order_id", "PARKED\nPARKED")
	w.want("select recoup.bound_source(1)::regclass", "shop.failures")
	_, err = w.runner().Release(w.Context(), "shop.failures")
	w.Must(err)
}
