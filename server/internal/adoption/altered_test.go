package adoption_test

import (
	"fmt"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What the owner of an adopted table changes of it is among the facts that the doctor judges.
func TestAlteredTablesAreFacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.settle()
	for _, c := range []struct{ sql, want string }{
		{"select", "[]  false"},
		{"alter table shop.failures rename note to said; alter table shop.failures drop archived_at", "[archived_at note]  false"},
		{`alter table shop.failures rename to "Fault s"`, `[archived_at note] shop."Fault s" false`},
		{`create role another; grant another to recoup_owner; grant create on schema shop to another; alter table shop."Fault s" owner to another`, `[archived_at note] shop."Fault s" true`},
	} {
		w.exec(c.sql)
		facts, err := w.db.Inspect(w.Context(), store.Inspection{})
		w.Must(err)
		if a := adoption.FactsOf(&facts)[0]; fmt.Sprint(a.Lost, " ", a.Renamed, " ", a.Given) != c.want {
			t.Errorf("%s: %v, %q, %t; want %s", c.sql, a.Lost, a.Renamed, a.Given, c.want)
		}
	}
	w.exec("create role restored; grant restored to recoup_owner; grant create on schema recoup to restored; alter function recoup.adopted_1_insert owner to restored; revoke create on schema recoup from restored")
	facts, err := w.db.Inspect(w.Context(), store.Inspection{})
	w.Must(err)
	if a := adoption.FactsOf(&facts)[0]; a.Noter != "restored" || fmt.Sprint(a.Lacks) != "[usage on schema recoup insert (adoption_id, keys, numbers, uuids, entities) on recoup.adopted_change]" {
		t.Errorf("%s lacks %q", a.Noter, a.Lacks)
	}
	w.exec("drop owned by restored cascade; drop role restored")
	w.exec(`reassign owned by another to recoup_owner; drop owned by another; drop role another`)
}
