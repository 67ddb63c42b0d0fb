package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// The blocks of SQL in the specifications are files in testdata, as they are
// written there, beside what they must answer.

// specified reads such a file.
func specified(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	must(t, err)
	return string(text)
}

// run runs a file as a person would, and returns the rows that it answers with.
func run(t testing.TB, conn *pgx.Conn, name string) string {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), specified(t, name)).ReadAll()
	must(t, err)
	var b strings.Builder
	for _, result := range results {
		for _, row := range result.Rows {
			values := make([]string, len(row))
			for i, value := range row {
				values[i] = "NULL"
				if value != nil {
					values[i] = string(value)
				}
			}
			b.WriteString(strings.Join(values, "|") + "\n")
		}
	}
	return b.String()
}

// answers holds a file to what stands beside it.
func answers(t testing.TB, conn *pgx.Conn, name string) {
	t.Helper()
	if got, want := run(t, conn, name+".sql"), specified(t, name+".want"); got != want {
		t.Errorf("%s says\n%swant\n%s", name, got, want)
	}
}

// promotionCheck is the query of spec 000, 6.3, for one of the tables.
func promotionCheck(t testing.TB, table string) string {
	t.Helper()
	return strings.ReplaceAll(specified(t, "spec000/1_promotion_check.sql"), "{error_table}", table)
}

// Spec 000, 6.3: whether a table holds an entity back.
func TestSpec000(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	d := conformance.NewDriver(t, s)
	report := func(table, entity string, severity recoup.Severity) recoup.ID {
		return d.Report(table, entity, "NETWORK_TIMEOUT", severity).ID
	}
	report(dol, "CO-retry", recoup.Medium)
	d.Park(report(dol, "CO-parked", recoup.Medium), "look")
	escalated := report(dol, "CO-escalated", recoup.Medium)
	d.Park(escalated, "look")
	d.Apply(escalated, lifecycle.Escalate{By: "ada"})
	d.Resolve(report(dol, "CO-resolved", recoup.Medium))
	d.Archive(report(dol, "CO-archived", recoup.Medium))
	report(dol, "CO-low", recoup.Low)
	report("outreach.company_target_errors", "CO-elsewhere", recoup.Medium)

	for line := range strings.Lines(specified(t, "spec000/1_promotion_check.want")) {
		column := strings.Split(strings.TrimSpace(line), "|")
		blocked := ask[bool](app, promotionCheck(t, column[0]), column[1])
		if got := fmt.Sprintf("%t", blocked)[:1]; got != column[2] {
			t.Errorf("%s: %s is %s, want %s", column[0], column[1], got, column[2])
		}
	}
}

// Spec 004, 10 and 11: both queries, over rows that plain SQL has brought, and
// the comments, which are there already, to the letter.
func TestSpec004(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, app := session(t, ownerURL), session(t, appURL)
	run(t, app, "spec004/fixture.sql")
	answers(t, app, "spec004/1_eligible")
	answers(t, app, "spec004/2_exhausted")

	p := prompt{t, owner}
	const comments = `select string_agg(objsubid || ': ' || description, E'\n' order by objsubid)
		from pg_description where objoid = 'cl.gate_zero_recovery'::regclass`
	before := ask[string](p, comments)
	run(t, owner, "spec004/3_comments.sql")
	if after := ask[string](p, comments); after != before {
		t.Errorf("the comments were\n%s\nand are now\n%s", before, after)
	}
}
