package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// fold counts what happened into the groups of errors, as the leader does.
func (w *world) fold() {
	w.Helper()
	if err := w.store.FoldErrorGroups(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) said(table, message string) recoup.Error {
	w.Helper()
	return w.report(table, w.entity(), func(r *recoup.Report) { r.Message = message })
}

// Errors with one cause are one group, which people own, and act on as a whole.
func TestErrorGroups(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		first := w.said(dol, "no answer within 30 s")
		w.wait(2 * time.Hour)
		second := w.said(dol, "no answer within 7 s")
		w.said(people, "a name is missing")
		w.fold()
		var page recoup.ErrorGroupPage
		w.get("/v1/error-groups").ok(&page)
		if len(page.Groups) != 2 || first.GroupID != second.GroupID || page.Groups[0].ID != first.GroupID {
			w.Fatalf("groups %+v, errors of %v and %v", page.Groups, first.GroupID, second.GroupID)
		}
		g := page.Groups[0]
		if g.Signature != "no answer within <n> s" || g.Example != "no answer within 30 s" || g.Open != 2 || g.RetryPending != 2 || g.Total != 2 ||
			len(g.Trend) != 24 || g.Trend[23] != 1 || g.Trend[21] != 1 || !g.FirstSeenAt.Equal(first.CreatedAt) || !g.LastSeenAt.Equal(second.CreatedAt) {
			w.Errorf("the group is %+v", g)
		}
		w.get("/v1/error-groups?state=PARKED").ok(&page)
		if len(page.Groups) != 0 {
			w.Errorf("groups with parked errors: %+v", page.Groups)
		}
		w.do("operator"+onlyDOL, http.MethodGet, "/v1/error-groups?sort=seen", nil).ok(&page)
		if len(page.Groups) != 1 {
			w.Errorf("a hub sees %+v", page.Groups)
		}

		if o := w.operated(recoup.ActPark, recoup.ErrorFilter{Group: g.ID}); o.Applied != 2 {
			w.Errorf("parked %+v", o)
		}
		w.fold()
		var noted recoup.ErrorGroup
		w.post("/v1/error-groups/"+g.ID.String()+"/note", recoup.GroupNote{Owner: "ada", Note: "the register is down"}).ok(&noted)
		w.get("/v1/error-groups/" + g.ID.String()).ok(&g)
		if g.Owner != "ada" || g.Note != "the register is down" || g.Parked != 2 || g.RetryPending != 0 || g.Open != 2 || noted.Owner != "ada" {
			w.Errorf("the group is %+v", g)
		}
		var errs recoup.ErrorPage
		w.get("/v1/errors?group=" + g.ID.String()).ok(&errs)
		if len(errs.Errors) != 2 || errs.Errors[0].ID != second.ID {
			w.Errorf("its errors are %+v", errs.Errors)
		}
	})
}

func TestErrorGroupPages(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		for i, message := range []string{"a", "b", "b", "c", "c", "c"} {
			w.said([]string{dol, people}[i%2], message)
		}
		w.fold()
		for _, order := range []string{"open", "seen"} {
			seen := map[recoup.ID]bool{}
			for cursor := ""; ; {
				var page recoup.ErrorGroupPage
				w.get("/v1/error-groups?limit=2&sort=" + order + "&cursor=" + cursor).ok(&page)
				for _, g := range page.Groups {
					seen[g.ID] = true
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if len(seen) != 5 {
				w.Errorf("by %s there are %d groups", order, len(seen))
			}
		}
	})
}
