package adopt_test

import (
	"testing"

	"recoup"
)

// TestReleaseAfterChanges changes a table behind the back of its adoption: a release takes
// everything out all the same.
func TestReleaseAfterChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ sql, now string }{
		"renamed":              {"alter table shop.failures rename to faults", "shop.faults"},
		"columns renamed":      {"alter table shop.failures rename order_id to thing; alter table shop.failures rename note to said", "shop.failures"},
		"column dropped":       {"alter table shop.failures drop note", "shop.failures"},
		"given to another":     {"alter table shop.failures owner to recoup_owner", "shop.failures"},
		"columns of ours gone": {"alter table shop.failures drop disposition", "shop.failures"},
		"dropped":              {"drop table shop.failures", "shop.failures"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ddl = "create table shop.failures (id bigint primary key, order_id text, note text)"
			plain, w := newWorld(t, ddl), newWorld(t, ddl)
			w.adopt("shop.failures", recoup.Mapping{Entity: "order_id", Code: "", Message: "note"})
			w.exec(change.sql)
			if forgotten, err := w.runner().Release(t.Context(), change.now); err != nil || !forgotten {
				t.Fatalf("released: %t, %v", forgotten, err)
			}
			if name != "columns of ours gone" {
				plain.exec(change.sql)
			}
			const defined = "select c.relname, (select string_agg(a.attname, ' ' order by a.attnum) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns, c.relhastriggers and exists (select from pg_trigger t where t.tgrelid = c.oid) as triggers from pg_class c where c.relnamespace = 'shop'::regnamespace order by 1"
			if got, want := ask(t, w.owner, defined), ask(t, plain.owner, defined); got != want {
				t.Errorf("left:\n%s\nwant\n%s", got, want)
			}
			if left := ask(t, w.owner, "select p.proname from pg_proc p where p.proname ~ '^adopted_[0-9]'"); left != "" {
				t.Errorf("functions are left: %s", left)
			}
		})
	}
}
