package adoption_test

import (
	"strings"
	"testing"
)

// unreadable is the rows that an adoption could not read.
const unreadable = "select key, cause from recoup.adopted_unreadable order by key"

// A row on which the owner's own condition fails is passed over, in the backfill and
// later: the others are governed, its error says why, and it is listed until it can be read.
func TestRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`insert into shop.failures (id, order_id, kind, status, at)
		select n, 'o' || n, 'TIMEOUT', case when n in (3, 700, 1201) then '0' else '1' end, '2026-02-02 09:00' from generate_series(1, 1201) n`)
	m := mapping
	m.ResolvedWhen = "12 / status::int = 4"
	w.adopt(m)
	w.settle()
	w.want("select state, scanned from recoup.adoption", "GOVERNED 1201")
	w.want("select count(*) from recoup.error where table_name = 'outreach.dol_errors' and state = 'RETRY_PENDING'", "1198")
	w.want("select count(*) from recoup.adopted_row", "1201")
	w.want(unreadable, `
		1201 division by zero
		3 division by zero
		700 division by zero`)
	if e := w.one(700); e.Table != "public.shq_orphan_errors" || !strings.Contains(e.Message, "row 700 of shop.failures cannot be read") {
		t.Errorf("the row has %+v", e)
	}
	if log := w.log.String(); strings.Count(log, "cannot be read") != 3 || !strings.Contains(log, "key=700") {
		t.Errorf("the log has\n%s", log)
	}
	before := w.ask("select error_id from recoup.adopted_row where key = '5'")
	w.exec("update shop.failures set status = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc' where id = 5") // it keeps its error
	w.exec("update shop.failures set status = '1' where id = 3")
	w.exec("update shop.failures set status = '3' where id = 700")
	w.exec("delete from shop.failures where id = 1201")
	w.settle()
	w.want(unreadable, `5 invalid input syntax for type integer: "[redacted:stripe]"`)
	w.want("select entity_id, state from recoup.error where entity_id in ('o3', 'o700')", "o3 RETRY_PENDING")
	if after := w.ask("select error_id from recoup.adopted_row where key = '5'"); after != before {
		t.Errorf("row 5 has error %s, and had %s", after, before)
	}
	w.exec("update shop.failures set status = '1' where id = 5")
	w.settle()
	w.want(unreadable, "")
}
