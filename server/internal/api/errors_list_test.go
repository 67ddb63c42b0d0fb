package api_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Every list can be read page by page, without missing or repeating a row.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		e := w.report(dol, fmt.Sprint("CO-", i))
		w.report(people, fmt.Sprint("CO-", i))
		w.post("/v1/errors/"+e.ID.String()+"/park", recoup.Act{Reason: "wait"}).ok()
		w.post("/v1/errors/"+w.report(dol, fmt.Sprint("CO-A", i)).ID.String()+"/archive", recoup.Act{Reason: "not needed"}).ok()
		w.wait(time.Second)
	}
	w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: policyText("1.0.1"), Reason: "a try"}).ok()
	for path, row := range map[string]struct {
		rows, id string
		n        int
	}{
		"/v1/errors?x":                     {"errors", "error_id", 10},
		"/v1/errors?table=" + dol:          {"errors", "error_id", 5},
		"/v1/errors/parked?x":              {"errors", "error_id", 5},
		"/v1/errors/archived?table=" + dol: {"errors", "error_id", 5},
		"/v1/events?x":                     {"events", "event_id", 15},
		"/v1/keys?x":                       {"keys", "key_id", 12},
		"/v1/audit?x":                      {"entries", "seq", 16},
		"/v1/policy/versions?x":            {"versions", "number", 2},
	} {
		path = strings.Replace(path, "x", "", 1)
		seen := map[any]bool{}
		cursor, pages := "", 0
		for ; pages == 0 || cursor != ""; pages++ {
			var page object
			w.get(path + "&limit=2&cursor=" + url.QueryEscape(cursor)).ok(&page)
			for _, row2 := range list(page[row.rows]) {
				if seen[row2[row.id]] {
					t.Errorf("%s has a row twice", path)
				}
				seen[row2[row.id]] = true
			}
			cursor, _ = page["next"].(string)
		}
		if len(seen) < row.n || pages < (row.n+1)/2 {
			t.Errorf("%s has %d rows in %d pages, want %d", path, len(seen), pages, row.n)
		}
	}
}

// A cursor that was made up is refused, or is a place like any other.
func TestCursors(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) *world{"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := make(t)
			w.report(dol, "CO-1")
			raw := func(b ...byte) string {
				return base64.RawURLEncoding.EncodeToString(append(b, slices.Repeat([]byte{7}, 24-len(b))...))
			}
			for _, path := range []string{"/v1/errors", "/v1/errors/parked", "/v1/errors/archived", "/v1/events", "/v1/events/export", "/v1/keys", "/v1/audit", "/v1/policy/versions"} {
				for _, cursor := range []string{
					"x", "%00", "0-0", "-", "1-", "1-1", "9223372036854775807-9223372036854775807", "-9223372036854775808-1", "99999999999999999999-1",
					"' or 1=1 --", strings.Repeat("A", 5000), raw(), raw(0xff), raw(0x80), raw(0x7f, 0xff, 0xff, 0xff), base64.StdEncoding.EncodeToString([]byte("123")),
					raw(0, 5, 0x40, 0, 0, 0, 0, 0), "0", "-1", "17", "9223372036854775808",
				} {
					got := w.get(path + "?rows=true&table=" + dol + "&cursor=" + url.QueryEscape(cursor))
					if got.Code == 400 { // most have no rows or table to ask for
						got = w.get(strings.Replace(path+"?cursor="+url.QueryEscape(cursor), "archived?", "archived?table="+dol+"&", 1))
					}
					if got.Code != 200 && got.Code != 400 {
						t.Errorf("%s with the cursor %.40q answers %d %s", path, cursor, got.Code, got.Body)
					}
				}
			}
		})
	}
}

// Filters select, and what they do not know is refused.
func TestFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.report(dol, "CO-1")
	w.wait(time.Minute)
	parked := w.report(people, "CO-2", func(r *recoup.Report) { r.Code = "MISSING_NAME" })
	for query, want := range map[string][]recoup.ID{
		"":                                   {parked.ID, mine.ID},
		"table=" + dol:                       {mine.ID},
		"hub=" + peopleHub:                   {parked.ID},
		"state=PARKED":                       {parked.ID},
		"parked=true":                        {parked.ID},
		"entity_id=CO-1":                     {mine.ID},
		"code=network_timeout":               {mine.ID},
		"code=MISSING_NAME&tier=1":           {parked.ID},
		"tier=3":                             {},
		"blocking=true":                      {parked.ID, mine.ID},
		"before=2026-02-02T10:00:30Z":        {mine.ID},
		"after=2026-02-02T10:00:30Z":         {parked.ID},
		"after=2026-02-02T11:00:30%2B01:00":  {parked.ID},
		"assigned_to=ada":                    {},
		"table=" + dol + "&hub=" + peopleHub: {},
	} {
		var page recoup.ErrorPage
		w.get("/v1/errors?" + query).ok(&page)
		got := []recoup.ID{}
		for _, e := range page.Errors {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s selects %v, want %v", query, got, want)
		}
	}
	for query, want := range map[string][2]string{
		"state=BROKEN":                    {"state", "enum"},
		"state=ARCHIVED":                  {"state", "enum"},
		"tier=4":                          {"tier", "range"},
		"tier=-1":                         {"tier", "range"},
		"tier=two":                        {"tier", "format"},
		"limit=0":                         {"limit", "range"},
		"limit=1001":                      {"limit", "range"},
		"limit=99999999999999999999":      {"limit", "format"},
		"hub=nobody":                      {"hub", "known"},
		"code=not+a+code":                 {"code", "pattern"},
		"before=yesterday":                {"before", "format"},
		"after=2026-02-02T11:00:30+01:00": {"after", "format"}, // a + is a space
		"blocking=perhaps":                {"blocking", "format"},
		"table=a&table=b":                 {"table", "unique"},
		"entity_id=a%00b":                 {"entity_id", "format"},
		"entity_id=%ff":                   {"entity_id", "format"},
		"tabel=x":                         {"tabel", "unknown"},
		"a%3Cscript%3E=x":                 {"a<script>", "unknown"},
		"a=%zz":                           {"query", "encoding"},
		"a;b=1":                           {"query", "encoding"},
	} {
		w.get("/v1/errors?"+query).invalid(want[0], want[1])
	}
	var empty recoup.ErrorPage
	w.get("/v1/errors/parked?table=" + dol + "&hub=" + peopleHub).ok(&empty)
	w.get("/v1/errors/parked?table=" + people + "&hub=" + peopleHub).ok(&empty)
	if len(empty.Errors) != 1 {
		t.Errorf("parked are %+v", empty)
	}
	w.get("/v1/errors/archived").invalid("table", "required")
}

// A bulk act is on named errors, and can be previewed. What a filter selects needs an
// operation, as the refusal of a filter says.
func TestBulk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.report(dol, "CO-1"), w.report(dol, "CO-2")
	act := recoup.Act{Reason: "the filing server is down"}
	w.post("/v1/errors/"+b.ID.String()+"/resolve", recoup.Act{Reason: "done"}).ok()

	both := []recoup.ID{a.ID, b.ID}
	w.post("/v1/errors/park", recoup.BulkAct{Act: act}).invalid("ids", "bulk")
	w.post("/v1/errors/park", recoup.BulkAct{IDs: both, Preview: true}).invalid("reason", "required")
	for _, field := range []string{"filter", "all"} {
		body := map[string]any{"reason": "x", "ids": both, "filter": map[string]any{"table": dol}, "all": true}
		maps.DeleteFunc(body, func(name string, _ any) bool { return (name == "filter" || name == "all") && name != field })
		e := w.post("/v1/errors/park", body).failed(http.StatusBadRequest, fault.CodeValidationError)
		want := "there is no field " + field + ": a bulk act takes ids, at most 10000; to act on all errors that a filter selects, send the filter to POST /v1/operations"
		if len(e.Fields) != 1 || e.Fields[0].Field != field || e.Fields[0].Constraint != "unknown" || e.Fields[0].Message != want {
			t.Errorf("%s: %+v", field, e.Fields)
		}
	}

	var out recoup.BulkResult
	w.post("/v1/errors/park", recoup.BulkAct{Act: act, IDs: both, Preview: true}).ok(&out)
	if !out.Preview || out.Matched != 2 || out.Applied != 1 || out.NotDone != 1 || out.Refused[0].ID != b.ID || !strings.Contains(out.Refused[0].Reason, "RESOLVED") {
		t.Errorf("the preview is %+v", out)
	}
	var found recoup.Error
	w.get("/v1/errors/" + a.ID.String()).ok(&found)
	if found.State != recoup.RetryPending {
		t.Errorf("a preview has changed it to %s", found.State)
	}
	w.post("/v1/errors/park", recoup.BulkAct{Act: act, Token: out.Token}).ok(&out)
	w.get("/v1/errors/" + a.ID.String()).ok(&found)
	if out.Applied != 1 || found.State != recoup.Parked || found.ParkedBy != "admin" {
		t.Errorf("got %+v and %+v", out, found.Parking)
	}
}

// failing breaks the second step of a bulk act.
type failing struct {
	app.Store
	steps atomic.Int64
}

func (s *failing) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	if s.steps.Add(1) == 2 {
		return nil, store.ErrBusy
	}
	return s.Store.ApplySteps(ctx, now, steps)
}

// A bulk act that breaks in the middle says how far it came.
func TestBulkCutShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wrapped(func(s app.Store) app.Store { return &failing{Store: s} }))
	var batch recoup.ReportBatch
	for i := range 250 {
		batch.Reports = append(batch.Reports, recoup.Report{Table: dol, EntityID: fmt.Sprint("CO-", i), Code: "TIMEOUT"})
	}
	w.post("/v1/errors/batch", batch).ok()
	preview := func() recoup.BulkAct {
		var page recoup.ErrorPage
		w.get("/v1/errors?state=RETRY_PENDING&limit=1000&table=" + dol).ok(&page)
		bulk := recoup.BulkAct{Act: recoup.Act{Reason: "wait"}, Preview: true}
		for _, e := range page.Errors {
			bulk.IDs = append(bulk.IDs, e.ID)
		}
		var out recoup.BulkResult
		w.post("/v1/errors/park", bulk).ok(&out)
		return recoup.BulkAct{Act: bulk.Act, Token: out.Token}
	}
	e := w.post("/v1/errors/park", preview()).failed(http.StatusServiceUnavailable, fault.CodeDatabaseBusy)
	if e.Details["matched"] != 250.0 || e.Details["applied"] != 200.0 || e.Details["not_done"] != 0.0 || e.RetryAfter == 0 {
		t.Errorf("got %v, after %v", e.Details, e.RetryAfter)
	}
	var out recoup.BulkResult
	w.post("/v1/errors/park", preview()).ok(&out)
	if out.Applied != 50 {
		t.Errorf("the rest is %+v", out)
	}
}
