package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/storetest"
)

// With row security on, a role that is neither the owner nor a node reads the
// events of its services and the errors of its hubs, and nodes work as before.
func TestRowSecurity(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, s := session(t, ownerURL), open(t, appURL)
	d, b := storetest.NewDriver(t, s), storetest.NewBookkeeper(t, s)
	for _, service := range []string{"billing", "search", "search", "mail"} {
		b.Add(b.Event(service, "NETWORK_TIMEOUT", storetest.Epoch()))
	}
	d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Archive(d.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium).ID)
	must(t, s.FoldRollups(t.Context()))
	b.Add(b.Event("mail", "NETWORK_TIMEOUT", storetest.Epoch()))
	analyst := thirdRole(t, owner, ownerURL)

	reading{events: 5, days: 3, deltas: 1, partition: 5, errors: 2, archived: 1, view: 1}.expect(t, analyst, "off by default")

	script(t, owner, "select recoup.enable_row_security()")
	reading{}.expect(t, analyst, "nothing is set, nothing is read")
	script(t, analyst, "set recoup.services = 'search,billing'; set recoup.hubs = 'nobody'")
	reading{events: 3, days: 2}.expect(t, analyst, "two services")
	hub, _ := policy.Default().Table(dol)
	script(t, analyst, "set recoup.services = 'mail'; set recoup.hubs = '"+hub.Hub+",nobody'")
	reading{events: 2, days: 1, deltas: 1, errors: 1, archived: 1, view: 1}.expect(t, analyst, "one service and one hub")
	script(t, analyst, "set recoup.hubs = ''")
	reading{events: 2, days: 1, deltas: 1}.expect(t, analyst, "no hub, not through a view either")

	// Nodes see everything, and write: also events that were known, in months to
	// come, after a restart.
	must(t, s.SyncTables(t.Context(), policy.Default()))
	e := b.Event("mail", "NETWORK_TIMEOUT", storetest.Epoch().AddDate(0, 1, 0))
	b.Add(e, b.Event("search", "NETWORK_TIMEOUT", storetest.Epoch()))
	b.Add(e)
	b.Check(store.Span{From: store.Day(storetest.Epoch()), To: store.Day(storetest.Epoch()).Add(60 * 24 * time.Hour)})
	d.Report(dol, "e3", "NETWORK_TIMEOUT", recoup.Medium)
	d.Check()
	script(t, owner, "grant select on all tables in schema recoup to "+analyst.Config().User)
	reading{events: 3, days: 1, deltas: 2}.expect(t, analyst, "a new partition is closed, and a renewed view")

	script(t, owner, "select recoup.disable_row_security()")
	reading{events: 7, days: 3, deltas: 3, partition: 6, errors: 3, archived: 1, view: 2}.expect(t, analyst, "off again")
}

// reading is how many rows a role reads.
type reading struct{ events, days, deltas, partition, errors, archived, view int }

func (r reading) expect(t *testing.T, conn *pgx.Conn, when string) {
	t.Helper()
	var got reading
	for table, n := range map[string]*int{
		"error_event": &got.events, "error_event_y2026m02": &got.partition, "error_aggregate_daily": &got.days,
		"error_aggregate_delta": &got.deltas, "error": &got.errors, "error_archive": &got.archived, dol: &got.view,
	} {
		must(t, conn.QueryRow(t.Context(), "select count(*) from "+table).Scan(n))
	}
	if got != r {
		t.Errorf("%s: reads %+v, want %+v", when, got, r)
	}
}

// thirdRole makes a role that may read what there is, and opens a session of it.
func thirdRole(t *testing.T, owner *pgx.Conn, ownerURL string) *pgx.Conn {
	t.Helper()
	name := "analyst_" + owner.Config().Database // roles belong to the server
	script(t, owner, `create role `+name+` login;
		grant usage on schema recoup, outreach to `+name+`;
		grant select on all tables in schema recoup to `+name+`;
		grant select on outreach.dol_errors to `+name)
	return session(t, strings.Replace(ownerURL, owner.Config().User, name, 1))
}

func script(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	must(t, err)
}
