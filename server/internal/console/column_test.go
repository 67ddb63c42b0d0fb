package console_test

import (
	"net/url"
	"strings"
	"testing"
)

// TestColumns proves that a list shows the columns that were asked for, that the browser
// remembers it, for that list alone, and that nothing but names of columns is taken.
func TestColumns(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	list := v.get("errors")
	list.has(t, `<th class="opt">Owner</th>`, `<th class="opt">Id</th>`)
	chosen := v.send(list, "columns", url.Values{"list": {"errors"}, "show": {"state", "next", "id"}, "to": {"errors?state=PARKED"}})
	chosen.has(t, `<th class="opt">Next</th>`, "no such number", "3 hidden", `<b>state</b>PARKED`)
	for _, p := range []page{chosen, v.get("errors"), v.get("park")} {
		if strings.Contains(p.body, `<th class="opt">Owner</th>`) || strings.Contains(p.body, `<th class="opt">For whom</th>`) || strings.Count(p.body, `<td class="opt`) == 0 {
			t.Errorf("what was taken away is shown:\n%s", p.body)
		}
	}
	v.get("groups").has(t, `value="owner" checked`)
	if p := v.send(list, "columns", url.Values{"list": {"nothing"}}); p.status != 404 {
		t.Errorf("a list that there is not: %d", p.status)
	}
	v.send(list, "columns", url.Values{"list": {"errors"}, "show": {"for-whom", "state", "owner", "age", "next", "id", "bogus"}, "to": {"errors"}}).has(t, `<th class="opt">Owner</th>`, ">Columns</summary>")
}
