package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/recoup-dev/recoup"
)

func (w *world) searched(key, query string) (entities []string) {
	w.Helper()
	var page recoup.ErrorPage
	w.do(key, http.MethodGet, "/v1/errors?limit=1&"+query, nil).ok(&page)
	for {
		for i := range page.Errors {
			entities = append(entities, page.Errors[i].EntityID)
		}
		if page.Next == "" {
			return entities
		}
		next := page.Next
		page = recoup.ErrorPage{}
		w.do(key, http.MethodGet, "/v1/errors?limit=1&"+query+"&cursor="+next, nil).ok(&page)
	}
}

// Errors are found by what their messages have in common, across tables and page by page,
// within the caller's hubs, and acts on what was found touch nothing else.
func TestSearch(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		for i, x := range [][2]string{
			{dol, "no answer within 30 s"}, {dol, "refused by the register"}, {people, "No answer within 7 s from \"ACME\""}, {dol, "no answer within 5 s"},
		} {
			w.report(x[0], fmt.Sprint("E", i), func(r *recoup.Report) { r.Message = x[1] })
			w.wait(1)
		}
		if got := w.searched("admin", "q=no+answer"); len(got) != 0 {
			w.Errorf("before it is counted, %v are found", got)
		}
		w.fold()
		for query, want := range map[string]string{
			"q=no+answer": "[E3 E2 E0]", "q=NO+ANSWER+within+99+s": "[E3 E2 E0]", "q=no+answer&table=" + dol: "[E3 E0]", "q=register": "[E1]", "q=ACME": "[]",
			"q=answer&entity_id=E2": "[E2]", "q=answer&entity_id=E1": "[]", "q=answer&state=PARKED": "[]", "q=answer&state=RETRY_PENDING&parked=false": "[E3 E2 E0]",
		} {
			if got := fmt.Sprint(w.searched("admin", query)); got != want {
				w.Errorf("%s finds %s, want %s", query, got, want)
			}
		}
		if got := fmt.Sprint(w.searched("operator"+onlyDOL, "q=no+answer")); got != "[E3 E0]" {
			w.Errorf("a hub finds %s", got)
		}
		w.get("/v1/errors?q=30+%22x%22").invalid("q", "words")

		if o := w.operated(recoup.ActPark, recoup.ErrorFilter{Text: "no answer", Table: dol}); o.Applied != 2 {
			w.Errorf("parked %+v", o)
		}
	})
}

// A search looks at so many groups and no more, and says so.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 51 {
		w.said(dol, "no answer from "+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	w.fold()
	var page recoup.ErrorPage
	if w.get("/v1/errors?q=no+answer").ok(&page); len(page.Errors) != 50 || !page.Truncated {
		t.Errorf("%d are found, truncated: %v", len(page.Errors), page.Truncated)
	}
	page = recoup.ErrorPage{}
	if w.get("/v1/errors?q=answer+from+aa").ok(&page); len(page.Errors) != 1 || page.Truncated {
		t.Errorf("%d are found, truncated: %v", len(page.Errors), page.Truncated)
	}
}
