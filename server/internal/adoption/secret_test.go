package adoption_test

import "testing"

// An entity that looks like a secret is not stored. The row becomes an orphan that says why.
func TestSecretEntity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const planted = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	w.exec("insert into shop.failures (order_id, kind, note) values ('" + planted + "', 'TIMEOUT', 'x'), ('o2', 'TIMEOUT', 'y')")
	w.adopt(mapping)
	w.settle()
	w.settle()
	w.want("select count(*) from recoup.adopted_row", "2")
	w.want("select entity_id from recoup.error where table_name = 'outreach.dol_errors'", "o2")
	w.want("select count(*) from recoup.error e where e::text like '%"+planted+"%'", "0")
	w.want("select count(*) from recoup.error where table_name = 'public.shq_orphan_errors' and message like '[entity: %'", "1")
}
