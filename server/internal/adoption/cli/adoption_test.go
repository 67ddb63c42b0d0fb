package cli_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// shop is a database with a policy's table and one that was there before.
func shop(t *testing.T) (url string, exec func(sql string)) {
	t.Helper()
	url, _ = pgtest.Migrated(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	exec = func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(`insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version)
		values ('shop.errors', 'shop', 'order_id', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '30 days', true, '1.0.0')`)
	exec("create schema shop; " + failures)
	return url, exec
}

const failures = `create table shop.failures (id bigint generated always as identity primary key, order_id text, kind smallint, error_message text,
	severity text, created_at timestamp, disposition int, status text);
	insert into shop.failures (order_id, kind, error_message, severity, created_at, status)
	select nullif('o' || n, 'o7'), n % 3, 'it failed', 'warning', date_trunc('day', now()) - n * interval '1 day', case when n > 40 then 'done' end from generate_series(1, 50) n`

// roles matches the number of the database in names of roles, which is another in each run.
var roles = regexp.MustCompile(`recoup_adopter_\d{5}_`)

// days matches the times of rows, which are made by the day of the run.
var days = regexp.MustCompile(`\d{4}-\d\d-\d\d 00:00:00`)

// TestPlanGolden compares a plan with how it looked before. No line is wider than 80 columns.
func TestPlanGolden(t *testing.T) {
	url, _ := shop(t)
	out, stderr, status := clitest.Run(t, "adopt", "shop.failures", "--as", "shop.errors", "--resolved-when", "status = 'done'", "--database", url)
	if status != 0 {
		t.Fatal(out, stderr)
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	clitest.Golden(t, "plan.golden", days.ReplaceAllString(roles.ReplaceAllString(out, "recoup_adopter_16385_"), "2026-01-01 00:00:00"))
}

// TestPresetPlanGolden compares the plan for a queue with how it looked before.
func TestPresetPlanGolden(t *testing.T) {
	url, exec := shop(t)
	exec(presettest.Queues[0].DDL)
	plan := func(want int, args ...string) string {
		t.Helper()
		out, stderr, status := clitest.Run(t, append([]string{"adopt", "shop.river_job", "--as", "shop.errors", "--database", url}, args...)...)
		if status != want {
			t.Fatal(out, stderr)
		}
		return out + stderr
	}
	clitest.Golden(t, "preset.golden", roles.ReplaceAllString(plan(0, "--preset", "river", "--entity", "args->>'order'"), "recoup_adopter_16385_"))
	if said := plan(0, "--preset", "river", "--no-mirror=false", "--code", "TIMEOUT"); !strings.Contains(said, "add column disposition") || !strings.Contains(said, "every row is TIMEOUT") {
		t.Error(said)
	}
	if said := plan(2, "--preset", "sidekiq"); !strings.Contains(said, "--preset sidekiq: expected one of graphile-worker, oban, pg-boss, river") {
		t.Error(said)
	}
	if said := plan(1, "--preset", "oban"); !strings.Contains(said, "use --preset river") {
		t.Error(said)
	}
}

// TestPlanPrintsWhatRuns adopts a table by running what a plan prints, statement by
// statement, and compares with what --apply makes.
func TestPlanPrintsWhatRuns(t *testing.T) {
	byHand, exec := shop(t)
	out, _, _ := clitest.Run(t, "adopt", "shop.failures", "--as", "shop.errors", "--json", "--database", byHand)
	var plan define.Plan
	clitest.Parse(t, out, &plan)
	for _, s := range plan.Steps {
		exec("begin")
		for _, sql := range s.SQL {
			exec(sql)
		}
		exec("commit")
	}
	exec("insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, begun_by) select 'x', 'x', c.oid, pg_get_userbyid(c.relowner), '{x}', '{}', 'x' from pg_class c where c.oid = 'shop.failures'::regclass; select recoup.bind_adoption(1), recoup.watch_errors()")
	byCommand, _ := shop(t)
	if out, stderr, status := clitest.Run(t, "adopt", "shop.failures", "--as", "shop.errors", "--apply", "--yes", "--database", byCommand); status != 0 {
		t.Fatal(out, stderr)
	}
	dump := func(url string) string {
		return roles.ReplaceAllString(pgtest.DumpSchema(t, url), "recoup_adopter_16385_")
	}
	if dump(byHand) != dump(byCommand) {
		t.Error("what the plan prints makes another definition than what --apply runs")
	}
}

// TestAdoptAndRelease goes the whole way, as a script and as a person at a terminal.
func TestAdoptAndRelease(t *testing.T) {
	url, exec := shop(t)
	before := pgtest.DumpSchema(t, url)
	run := func(want int, says string, args ...string) string {
		t.Helper()
		out, stderr, status := clitest.Run(t, append(args, "--database", url)...)
		if status != want || !strings.Contains(out+stderr, says) {
			t.Fatalf("%v: status %d, want %d and %q\n%s%s", args, status, want, says, out, stderr)
		}
		return out
	}
	run(2, "one of the two", "adopt", "shop.failures", "--plan", "--apply")
	run(1, "there is no table shop.nothing", "adopt", "shop.nothing")
	run(1, "no table shop.failures", "adopt", "shop.failures")
	run(1, "its columns are id, order_id", "adopt", "shop.failures", "--as", "shop.errors", "--message", "nothing")
	run(1, "repeat it with --yes", "adopt", "shop.failures", "--as", "shop.errors", "--apply")
	run(1, "is not adopted", "adopt", "release", "shop.failures", "--yes")
	if after := pgtest.DumpSchema(t, url); after != before {
		t.Fatal("a refusal has changed something")
	}

	out := run(0, "No node is running", "adopt", "shop.failures", "--as", "shop.errors", "--code", "TIMEOUT", "--apply", "--yes", "--json")
	var adopted wire.Adoption
	clitest.Parse(t, out, &adopted)
	if adopted.State != wire.AdoptionBackfilling || adopted.Mapping.CodeValue != "TIMEOUT" || adopted.Mapping.Code != "" || adopted.Key[0] != "id" || adopted.Mapping.Disposition != "recoup_disposition" {
		t.Errorf("adopted: %+v", adopted)
	}
	run(0, "shop.failures is adopted as shop.errors since", "adopt", "shop.failures")
	run(0, "(done)", "adopt", "shop.failures")
	exec("insert into shop.failures (order_id) values ('late')")

	exec("insert into recoup.adopted_row (adoption_id, key, error_id, digest) values (1, '1', gen_random_uuid(), '')")
	run(0, "end once a node runs", "adopt", "release", "shop.failures", "--yes")
	if after := pgtest.DumpSchema(t, url); after != before {
		t.Error("something is left of the adoption")
	}
	run(1, "is being released", "adopt", "shop.failures", "--as", "shop.errors")
	exec("delete from recoup.adopted_row") // as nodes do, once its error is ended
	if out := run(0, "", "adopt", "release", "shop.failures", "--yes", "--json"); !strings.Contains(out, `"ended": true`) {
		t.Error(out)
	}
	run(0, "Nothing was changed", "adopt", "shop.failures", "--as", "shop.errors")
}

// TestAdoptIsConfirmed has a person read the plan, and answer.
func TestAdoptIsConfirmed(t *testing.T) {
	url, _ := shop(t)
	args := []string{"adopt", "shop.failures", "--as", "shop.errors", "--apply", "--database", url}
	answer := func(text string) (said string, status int) {
		var out bytes.Buffer
		streams := clitest.Typed(text)
		streams.Out, streams.Err = &out, &out
		status = cli.Run(t.Context(), args, streams)
		return out.String(), status
	}
	if said, status := answer("no\n"); status != 1 || !strings.Contains(said, "nothing was changed") || !strings.Contains(said, "Mapping") {
		t.Errorf("status %d: %s", status, said)
	}
	if said, status := answer("adopt\n"); status != 0 {
		t.Errorf("status %d: %s", status, said)
	}
}

// TestPlanHasNoControlCharacters plans and adopts a table whose names and values would move the
// cursor, colour the terminal or fake a line of the plan.
func TestPlanHasNoControlCharacters(t *testing.T) {
	url, exec := shop(t)
	exec("create table shop.\"a\x1b[2J\nNothing was changed.\" (id int primary key, order_id text, \"b\x1b]0;x\x07\u202e\" text)")
	name := "shop.a\x1b[2J\nNothing was changed."
	for _, args := range [][]string{
		{"--resolved-when", "order_id = E'\\x1b[31m'"}, {"--json"}, {"--as", "x\x1b[31m"}, {"--entity", "none\x1b[31m"},
	} {
		out, stderr, _ := clitest.Run(t, append([]string{"adopt", name, "--as", "shop.errors", "--message", "b\x1b]0;x\x07\u202e", "--database", url}, args...)...)
		if i := strings.IndexFunc(out+stderr, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 || out == "" && stderr == "" {
			t.Errorf("%q: a control character at %d: %q", args, i, (out + stderr)[max(0, i-60):])
		}
		if strings.Contains(out, "\nNothing was changed.\n") {
			t.Errorf("%q: a name fakes a line", args)
		}
	}
	if out, stderr, status := clitest.Run(t, "adopt", name, "--as", "shop.errors", "--message", "b\x1b]0;x\x07\u202e", "--apply", "--yes", "--no-wait", "--database", url); status != 0 {
		t.Fatal(out, stderr)
	}
	exec("insert into shop.\"a\x1b[2J\nNothing was changed.\" values (1, 'a', 'b')")
}
