package adoption_test

import (
	"fmt"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// keyed adopts a table with a key of this type, and these rows.
func keyed(t *testing.T, kind, rows string) *world {
	t.Helper()
	w := newWorld(t)
	w.adoptKeyed(kind, rows)
	return w
}

func (w *world) adoptKeyed(kind, rows string) {
	w.Helper()
	w.exec("create table shop.named (id " + kind + " primary key, order_id text, kind text); insert into shop.named " + rows)
	plan, err := define.MakePlan(w.Context(), w.owner, define.Request{Source: "shop.named", As: "outreach.dol_errors", Mapping: wire.Mapping{Entity: "order_id", Code: "kind"}})
	w.Must(err)
	w.Must(w.runner().Apply(w.Context(), plan))
	w.settle()
}

// The empty text is a key like others: a backfill gets past it, and it is truncated and
// released with the rest.
func TestEmptyKey(t *testing.T) {
	t.Parallel()
	w := keyed(t, "text", "values ('', 'o1', 'TIMEOUT')")
	w.want("select state, scanned from recoup.adoption", "GOVERNED 1")
	w.exec("truncate shop.named")
	w.settle()
	w.want("select count(*) from recoup.adopted_row", "0")
	w.want("select count(*) from recoup.error where state = 'RETRY_PENDING'", "0")
	w.exec("insert into shop.named values ('', 'o2', 'TIMEOUT')")
	w.settle()
	_, err := w.runner().Release(w.Context(), "shop.named")
	w.Must(err)
	w.settle()
	w.want("select count(*) from recoup.adoption", "0")
	w.want("select count(*) from recoup.error where state = 'RETRY_PENDING'", "0")
}

// A key that is too long for an index of Recoup's is listed, and is in nobody's way.
func TestKeyTooLong(t *testing.T) {
	t.Parallel()
	w := keyed(t, "bytea", `select string_agg(sha512(n::text::bytea), '' order by n), 'o' || m, 'TIMEOUT' from generate_series(1, 3) m, generate_series(1, 16 * m - 15) n group by m`)
	w.want("select state, scanned from recoup.adoption", "GOVERNED 3")
	w.want("select count(*) from recoup.adopted_row", "2")
	w.want("select cause from recoup.adopted_unreadable", "its key has 4226 bytes, and 2600 are the most")
	w.exec("update shop.named set id = sha256(id) where order_id = 'o3'")
	w.settle()
	w.want("select count(*) from recoup.adopted_unreadable", "0")
	w.want("select entity_id from recoup.error where state = 'RETRY_PENDING' order by 1", "o1\no2\no3")
}

// A table whose key is an array gets another one, because an array of such keys cannot be searched.
func TestArrayKey(t *testing.T) {
	t.Parallel()
	w := keyed(t, "text[]", "values ('{a,b}', 'o1', 'TIMEOUT'), ('{}', 'o2', 'TIMEOUT')")
	w.want("select state, scanned, key_columns[1] from recoup.adoption", "GOVERNED 2 recoup_key")
	w.want("select entity_id from recoup.error where state = 'RETRY_PENDING' order by 1", "o1\no2")
	w.exec("delete from shop.named where id = '{a,b}'")
	w.settle()
	w.want("select entity_id from recoup.error where state = 'RETRY_PENDING' order by 1", "o2")
}

// A table whose key has no order of its own in pg_catalog gets another one: by names, PostgreSQL finds no operators
// of such a type there, or those of text, whose order is another. So does one whose key is a row, which is null if
// a part of it is.
func TestKeyOfAForeignType(t *testing.T) {
	t.Parallel()
	for kind, keys := range map[string][2]string{"citext": {"b", "C"}, "shop.priority": {"b", "C"}, "shop.place": {"(1,)", "(2,x)"}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec("create extension citext; create type shop.level as enum ('b', 'C'); create domain shop.priority as shop.level; create type shop.place as (a int, b text)")
			w.adoptKeyed(kind, fmt.Sprintf("values ('%[1]s'::%[3]s, 'o1', 'TIMEOUT'), ('%[2]s', 'o2', 'TIMEOUT')", keys[0], keys[1], kind))
			w.want("select state, scanned, key_columns[1] from recoup.adoption", "GOVERNED 2 recoup_key")
			w.want("select entity_id from recoup.error where state = 'RETRY_PENDING' order by 1", "o1\no2")
		})
	}
}
