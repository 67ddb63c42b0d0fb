package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// plainly writes a row as somebody else's program does. What it says of blocking is
// what its table says.
func plainly(table, entity, code string) string {
	return fmt.Sprintf(`insert into error (table_name, entity_id, code, disposition, blocking)
		select table_name, nullif('%s', ''), '%s', default_disposition, blocks and default_disposition in ('RETRY', 'PARKED')
		from error_table where table_name = '%s'`, entity, code, table)
}

// Codes in plain SQL are folded and checked, rows without their entity are orphans, and
// dead letters are refused with the name of the call.
func TestPlainInserts(t *testing.T) {
	t.Parallel()
	s := open(t)
	d, raw := conformance.NewDriver(t, s), s.raw()
	if err := s.SyncCodes(t.Context(), d.Now(), fault.Default().All()); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ table, entity, code, want string }{
		{dol, "CO-1", "network_timeout", "outreach.dol_errors - NETWORK_TIMEOUT RETRY 1"},
		{dol, "CO-2", "rate_limited", "outreach.dol_errors - RATE_LIMIT_EXCEEDED RETRY 1"},
		{dol, "CO-3", "our_own_code", "outreach.dol_errors - OUR_OWN_CODE RETRY 1"},
		{dol, "CO-4", "OUR_OWN_CODE", "outreach.dol_errors - OUR_OWN_CODE RETRY 1"},
		{dol, "", "stale_read", "public.shq_orphan_errors outreach.dol_errors STALE_READ PARKED 0"},
		{"public.shq_error_log", "", "STALE_READ", "public.shq_error_log - STALE_READ IGNORE 0"},
	} {
		if _, err := raw.Exec(plainly(row.table, row.entity, row.code)); err != nil {
			t.Fatalf("%+v: %v", row, err)
		}
		var got string
		err := raw.QueryRow(`select table_name || ' ' || coalesce(reported_table, '-') || ' ' || code || ' ' || disposition || ' ' || blocking
			from error order by rowid desc limit 1`).Scan(&got)
		if err != nil || got != row.want {
			t.Errorf("%+v became %s, %v", row, got, err)
		}
	}
	for _, row := range []struct{ sql, want string }{
		{plainly(dol, "CO-5", "not a code"), "does not look like a code"},
		{plainly(dol, "CO-5", "9LIVES"), "does not look like a code"},
		{plainly(dol, "CO-5", strings.Repeat("A", 65)), "does not look like a code"},
		{plainly("pipeline.dead_letters", "CO-5", "X"), "send it with POST /v1/dead-letters"},
	} {
		if _, err := raw.Exec(row.sql); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.sql, err)
		}
	}
}

// Plain SQL has the limits of the API: a longer message is cut and says how long it was, a
// longer entity is refused.
func TestPlainLimits(t *testing.T) {
	t.Parallel()
	s := open(t)
	conformance.NewDriver(t, s)
	raw := s.raw()
	for _, row := range []struct {
		unit    string
		n, kept int
	}{{"x", 8192, 8192}, {"x", 8193, 8150}, {"x", 1 << 20, 8150}, {"é", 5000, 4074}} {
		sent := strings.Repeat(row.unit, row.n)
		want := sent[:row.kept]
		if want != sent {
			want += fmt.Sprintf(" [cut: %d bytes]", len(sent))
		}
		sql := `insert into error (table_name, entity_id, code, disposition, blocking, message) values (?, 'CO-1', 'X', 'RETRY', 1, ?)`
		if _, err := raw.Exec(sql, dol, sent); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := raw.QueryRow("select message from error order by rowid desc limit 1").Scan(&got); err != nil || got != want {
			t.Errorf("%d of %s: %d bytes are kept, %v", row.n, row.unit, len(got), err)
		}
	}
	long := strings.Repeat("e", 201)
	if _, err := raw.Exec(plainly(dol, long, "X")); err == nil || !strings.Contains(err.Error(), "the entity may have 200 bytes") {
		t.Errorf("a long entity: %v", err)
	}
	if _, err := raw.Exec(plainly(dol, long[1:], "X")); err != nil {
		t.Error(err)
	}
	for _, p := range [][3]string{{long, "next", "ada"}, {"CO-9", long, "ada"}, {"CO-9", "next", long}} {
		_, err := raw.Exec("insert into promotion (seq, promotion_id, entity_id, phase, promoted_by, promoted_at) select seq, randomblob(16), ?, ?, ?, 1 from gate_next", p[0], p[1], p[2])
		if err == nil || !strings.Contains(err.Error(), "may have 200 bytes each") {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// The promotion query of spec 000, 6.3 is answered under every name of 6.2.
func TestPromotionQueryOnEveryTable(t *testing.T) {
	t.Parallel()
	s := open(t)
	d, raw := conformance.NewDriver(t, s), s.raw()
	d.Report("company.url_discovery_failures", "CO-1", "NETWORK_TIMEOUT", "MEDIUM")
	d.Report(dol, "CO-1", "NETWORK_TIMEOUT", "MEDIUM")
	for table, want := range map[string]int{
		"outreach.dol_errors": 1, "outreach.company_target_errors": 0, "people.people_errors": 0, "company.url_discovery_failures": 0,
		"public.shq_error_log": 0, "public.shq_master_error_log": 0,
	} {
		got := count(t, raw, `SELECT COUNT(*) > 0 AS is_blocked FROM "`+table+`"
			WHERE outreach_id = 'CO-1' AND disposition IN ('RETRY', 'PARKED') AND archived_at IS NULL`)
		if got != want {
			t.Errorf("%s: %d, want %d", table, got, want)
		}
	}
}
