package cli_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestTurkishDatabase runs commands on a database in whose locale the lower case of I is ı and the
// upper case of i is İ. Schema and privileges are as migrations made them, and codes and severities
// are folded as in every other database.
func TestTurkishDatabase(t *testing.T) {
	for _, provider := range pgtest.Providers {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Turkish(t, provider)
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(t.Context()) })
			want := func(sql, want string) {
				t.Helper()
				var got string
				if err := conn.QueryRow(t.Context(), sql, pgx.QueryExecModeExec).Scan(&got); err != nil || got != want {
					t.Errorf("%s: %q, want %q (%v)", sql, got, want, err)
				}
			}
			run := func(args ...string) string {
				t.Helper()
				out, stderr, status := clitest.Run(t, append(args, "--database", url)...)
				if status != 0 {
					t.Fatalf("%v: %s%s", args, out, stderr)
				}
				return out
			}
			want("select lower('I') || upper('i')", "ıİ")
			run("migrate", "up")
			sql := `insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version)
				values ('shop.errors', 'shop', 'order_id', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '30 days', true, '1.0.0');
				create schema shop; create table shop."Order ""FAILURES""" (id int primary key, order_id text, "KIND" text, severity text);
				insert into shop."Order ""FAILURES""" values (1, 'I', 'invalid_input', 'critical'), (2, 'i', 'timeout', 'info')`
			if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			findings := func() {
				t.Helper()
				out, stderr, _ := clitest.Run(t, "doctor", "--json", "--database", url)
				var found struct{ Findings []wire.Finding }
				clitest.Parse(t, out, &found)
				for _, f := range found.Findings {
					if f.Check == "public-schema" {
						continue // what PostgreSQL 13 and 14 grant everybody there
					}
					if strings.Contains(f.Check, "schema") || strings.Contains(f.Check, "grant") || strings.Contains(f.Check, "roles") {
						t.Errorf("the doctor finds %+v %s", f, stderr)
					}
				}
			}
			findings()
			run("adopt", `shop."Order ""FAILURES"""`, "--as", "shop.errors", "--apply", "--yes", "--no-wait")
			findings()
			want(`select string_agg(concat_ws(' ', entity_id, code, severity), ', ' order by key) from recoup.adopted_1_read('{1,2}')`, "I invalid_input CRITICAL, i timeout LOW")
			want("insert into recoup.error (table_name, entity_id, code, disposition, blocking) values ('shop.errors', 'I', 'invalid_input', 'RETRY', true) returning code", "INVALID_INPUT")
			want("select recoup.id('01jjjjjjjjjjjjjjjjjjjjjjjj')::text", "0194a529-4a52-94a5-294a-5294a5294a52")
			run("adopt", "release", `shop."Order ""FAILURES"""`, "--yes", "--no-wait")
		})
	}
}
