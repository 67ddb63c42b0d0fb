package define_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestFunctionsGoByTheIndex calls what nodes call on a table of 100,000 rows: none of it
// reads the table from end to end.
func TestFunctionsGoByTheIndex(t *testing.T) {
	const rows = "from generate_series(1, 100000) n; analyze shop.failures"
	for name, ddl := range map[string]string{
		"bigint": "create table shop.failures (id bigint primary key, order_id text, code text); insert into shop.failures select n, 'o' || n, 'X' " + rows,
		"uuid": `create table shop.failures (id uuid primary key, order_id text, code text);
			insert into shop.failures select gen_random_uuid(), 'o' || n, 'X' ` + rows,
		"composite": `create table shop.failures (region text, n int, order_id text, code text, primary key (region, n));
			insert into shop.failures select 'r' || n % 10, n, 'o' || n, 'X' ` + rows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ddl)
			w.adopt("shop.failures", wire.Mapping{})
			tx, err := w.owner.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(t.Context()) }()
			scans := func() (whole, indexed int) {
				err := tx.QueryRow(t.Context(), "select seq_scan, idx_scan from pg_stat_xact_all_tables where relid = 'shop.failures'::regclass").Scan(&whole, &indexed)
				if err != nil {
					t.Fatal(err)
				}
				return whole, indexed
			}
			whole, indexed := scans() // what the plan has looked at
			for _, sql := range []string{
				"create temp table page as select key from recoup.adopted_1_scan(null, recoup.adopted_1_last(), 1000) key",
				"insert into page select key from recoup.adopted_1_scan((select max(key) from page), recoup.adopted_1_last(), 1000) key",
				"select count(*) from recoup.adopted_1_read(array(select key from page))",
				"select recoup.adopted_1_mirror(array(select key from page), array(select 'PARKED' from page), array(select null::timestamptz from page))",
			} {
				if _, err := tx.Exec(t.Context(), sql); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				wholeNow, indexedNow := scans()
				if wholeNow != whole || indexedNow == indexed {
					t.Errorf("%s: read from end to end %d times, by index %d times", sql, wholeNow-whole, indexedNow-indexed)
				}
				whole, indexed = wholeNow, indexedNow
			}
		})
	}
}
