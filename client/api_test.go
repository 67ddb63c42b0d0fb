package client_test

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// Every method asks for exactly what the API documents.
func TestRequests(t *testing.T) {
	t.Parallel()
	const e1 = "/v1/errors/00000000-0000-0000-0000-000000000001"
	const r1 = "/v1/retries/00000000-0000-0000-0000-000000000001"
	const lease = `"lease_token":"00000000-0000-0000-0000-000000000002"`
	page := client.Page{Cursor: "c", Limit: 5}
	act := recoup.Act{Reason: "why"}
	result := recoup.RetryResult{ErrorID: id(1), LeaseToken: id(2)}
	days := recoup.DayFilter{From: noon, To: noon.Add(time.Hour), Service: "s", Code: "TIMEOUT"}
	const inDays = "code=TIMEOUT&from=2026-02-02T12%3A00%3A00Z&service=s&to=2026-02-02T13%3A00%3A00Z"
	type ctx = context.Context
	for want, call := range map[string]func(*client.Client, ctx) (any, error){
		`POST /v1/errors {"table":"t","code":"TIMEOUT","service":"renderdb","region":"eu-1"}`: func(c *client.Client, x ctx) (any, error) {
			return c.Report(x, recoup.Report{Table: "t", Code: "TIMEOUT"})
		},
		`POST /v1/errors/batch {"reports":[{"table":"t","code":"TIMEOUT","service":"s","region":"eu-1"}]}`: func(c *client.Client, x ctx) (any, error) {
			return c.ReportBatch(x, []recoup.Report{{Table: "t", Code: "TIMEOUT", Service: "s"}})
		},
		`GET ` + e1:              func(c *client.Client, x ctx) (any, error) { return c.Errors.Get(x, id(1)) },
		`GET ` + e1 + `/history`: func(c *client.Client, x ctx) (any, error) { return c.Errors.History(x, id(1)) },
		`GET ` + e1 + `/explain`: func(c *client.Client, x ctx) (any, error) { return c.Errors.Explain(x, id(1)) },
		`GET /v1/errors?cursor=c&limit=5&table=t`: func(c *client.Client, x ctx) (any, error) {
			return c.Errors.List(x, recoup.ErrorFilter{Table: "t"}, page)
		},
		`GET /v1/errors/parked?hub=h&table=t`: func(c *client.Client, x ctx) (any, error) {
			return c.Errors.Parked(x, recoup.ParkedFilter{Table: "t", Hub: "h"}, client.Page{})
		},
		`GET /v1/errors/archived?cursor=c&limit=5&table=t`: func(c *client.Client, x ctx) (any, error) { return c.Errors.Archived(x, "t", page) },
		`GET /v1/errors/counts`:                            func(c *client.Client, x ctx) (any, error) { return c.Errors.Counts(x) },

		`POST ` + e1 + `/park {"reason":"why"}`:    func(c *client.Client, x ctx) (any, error) { return c.Errors.Park(x, id(1), act) },
		`POST ` + e1 + `/unpark {"reason":"why"}`:  func(c *client.Client, x ctx) (any, error) { return c.Errors.Unpark(x, id(1), act) },
		`POST ` + e1 + `/resolve {"reason":"why"}`: func(c *client.Client, x ctx) (any, error) { return c.Errors.Resolve(x, id(1), act) },
		`POST ` + e1 + `/escalate {"reason":"why","tier":3}`: func(c *client.Client, x ctx) (any, error) {
			return c.Errors.Escalate(x, id(1), recoup.Act{Reason: "why", Tier: 3})
		},
		`POST ` + e1 + `/archive {"reason":"why"}`: func(c *client.Client, x ctx) (any, error) { return c.Errors.Archive(x, id(1), act) },
		`POST ` + e1 + `/assign {"to":"ada"}`:      func(c *client.Client, x ctx) (any, error) { return c.Errors.Assign(x, id(1), recoup.Act{To: "ada"}) },
		`POST ` + e1 + `/review {}`:                func(c *client.Client, x ctx) (any, error) { return c.Errors.Review(x, id(1), recoup.Act{}) },
		`POST /v1/errors/unpark {"reason":"why","ids":["` + id(1).String() + `"],"preview":true}`: func(c *client.Client, x ctx) (any, error) {
			return c.Errors.ActOnIDs(x, recoup.ActUnpark, recoup.BulkAct{Act: act, IDs: []recoup.ID{id(1)}, Preview: true})
		},

		`POST /v1/retries/claim {"tables":["t"],"worker":"w","limit":5,"wait_seconds":20}`: func(c *client.Client, x ctx) (any, error) {
			return c.Retries.Claim(x, recoup.RetryClaim{Tables: []string{"t"}, Worker: "w", Limit: 5, WaitSeconds: 20})
		},
		`POST ` + r1 + `/succeed {` + lease + `}`: func(c *client.Client, x ctx) (any, error) { return c.Retries.Succeed(x, result) },
		`POST ` + r1 + `/fail {` + lease + `,"code":"TIMEOUT"}`: func(c *client.Client, x ctx) (any, error) {
			return c.Retries.Fail(x, recoup.RetryResult{ErrorID: id(1), LeaseToken: id(2), Code: "TIMEOUT"})
		},
		`POST ` + r1 + `/extend {` + lease + `,"lease_seconds":60}`: func(c *client.Client, x ctx) (any, error) {
			return c.Retries.Extend(x, recoup.RetryResult{ErrorID: id(1), LeaseToken: id(2), LeaseSeconds: 60})
		},
		`POST /v1/retries/results {"results":[{"error_id":"00000000-0000-0000-0000-000000000001",` + lease + `,"outcome":"succeed"}]}`: func(c *client.Client, x ctx) (any, error) {
			r := result
			r.Outcome = recoup.OutcomeSucceeded
			return c.Retries.Results(x, []recoup.RetryResult{r})
		},

		`GET /v1/promotion/CO%2F1%20%3F`: func(c *client.Client, x ctx) (any, error) { return c.CheckPromotion(x, "CO/1 ?") },
		`POST /v1/promotions {"entity_id":"CO-1","phase":"outreach"}`: func(c *client.Client, x ctx) (any, error) {
			return c.Promote(x, recoup.Promotion{EntityID: "CO-1", Phase: "outreach"})
		},
		`POST /v1/processed {"counts":[{"minute":"2026-02-02T12:00:00Z","service":"renderdb","count":7,"failed":1,"duration_ms":20}]}`: func(c *client.Client, x ctx) (any, error) {
			return nil, c.CountProcessed(x, []recoup.Processed{{Minute: noon, Count: 7, Failed: 1, DurationMS: 20}})
		},

		`POST /v1/events {"event_id":"00000000-0000-0000-0000-000000000001","code":"TIMEOUT","service":"renderdb","region":"eu-1","ts":"2026-02-02T12:00:00Z"}` + "\n": func(c *client.Client, x ctx) (any, error) {
			return c.SendEvents(x, []recoup.Event{{ID: id(1), Code: "TIMEOUT"}})
		},
		`GET /v1/events?code=TIMEOUT&correlation_id=00000000-0000-0000-0000-000000000003&cursor=c&from=2026-02-02T12%3A00%3A00Z&limit=5&service=s`: func(c *client.Client, x ctx) (any, error) {
			return c.Events.List(x, recoup.EventFilter{CorrelationID: id(3), Service: "s", Code: "TIMEOUT", From: noon}, page)
		},
		`GET /v1/events/export?` + inDays:           func(c *client.Client, x ctx) (any, error) { return c.Events.ExportCounts(x, days) },
		`GET /v1/stats/top-codes?hours=24&limit=10`: func(c *client.Client, x ctx) (any, error) { return c.Events.TopCodes(x, 24, 10) },
		`GET /v1/stats/retryable-rate`:              func(c *client.Client, x ctx) (any, error) { return c.Events.RetryableRates(x, recoup.DayFilter{}) },
		`GET /v1/stats/daily?` + inDays:             func(c *client.Client, x ctx) (any, error) { return c.Events.DailyCounts(x, days) },
		`GET /v1/stats/drops?` + inDays:             func(c *client.Client, x ctx) (any, error) { return c.Events.Drops(x, days) },

		`GET /v1/codes`:         func(c *client.Client, x ctx) (any, error) { return c.Codes.List(x) },
		`GET /v1/codes/TIMEOUT`: func(c *client.Client, x ctx) (any, error) { return c.Codes.Get(x, "TIMEOUT") },
		`POST /v1/classify {"status":429,"headers":{"Retry-After":"3"}}`: func(c *client.Client, x ctx) (any, error) {
			return c.Classify(x, fault.RawFailure{Status: 429, Headers: map[string]string{"Retry-After": "3"}})
		},
	} {
		s := serve(t, reply(`{"items":[{}]}`))
		if _, err := call(s.client(t), t.Context()); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		got := s.all()[0]
		if text := strings.TrimSuffix(got.method+" "+got.target+" "+got.body, " "); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
	}
}

// A definition that is put is one that the registry would take.
func TestPutCode(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 1<<16)
		n, _ := r.Body.Read(body)
		_, _ = w.Write(body[:n])
	})
	def, _ := fault.Default().Lookup(fault.CodeTimeout)
	got, err := s.client(t).Codes.Put(t.Context(), *def)
	if err != nil || !reflect.DeepEqual(&got, def) || s.all()[0].target != "/v1/codes/TIMEOUT" {
		t.Errorf("got %+v, %v from %s", got, err, s.all()[0].target)
	}
}

// The acts are those of the API, each with a method.
func TestActNames(t *testing.T) {
	t.Parallel()
	c := reflect.TypeFor[client.ErrorService]()
	for _, act := range recoup.Acts() {
		name := strings.ToUpper(string(act.Name[:1])) + string(act.Name[1:])
		if _, ok := c.MethodByName(name); !ok {
			t.Errorf("there is no method %s", name)
		}
	}
}

// Every field of a filter reaches the server under the name that its tag says.
func TestFilterIsSentWhole(t *testing.T) {
	t.Parallel()
	f := recoup.ErrorFilter{
		Table: "t", Hub: "h", State: recoup.Parked, EntityID: "e", Code: "c", AssignedTo: "a", Group: recoup.ID{1}, Text: "q",
		Tier: 2, Blocking: new(true), Parked: new(true), Before: noon, After: noon.Add(-time.Hour),
	}
	s := serve(t, reply(`{}`))
	if _, err := s.client(t).Errors.List(t.Context(), f, client.Page{}); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	filter := reflect.TypeFor[recoup.ErrorFilter]()
	for i := range filter.NumField() {
		want = append(want, filter.Field(i).Tag.Get("query"))
		if reflect.ValueOf(f).Field(i).IsZero() {
			t.Errorf("the test does not set %s", filter.Field(i).Name)
		}
	}
	_, query, _ := strings.Cut(s.all()[0].target, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		got = append(got, name)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
}

// Iterators walk all pages, stop when asked to, and end with the first failure.
func TestPages(t *testing.T) {
	t.Parallel()
	first := reply(`{"errors":[{"error_id":"00000000-0000-0000-0000-000000000001"},{"error_id":"00000000-0000-0000-0000-000000000002"}],"next":"n1"}`)
	last := reply(`{"errors":[{"error_id":"00000000-0000-0000-0000-000000000003"}]}`)
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		stop    int
		want    []recoup.ID
		failed  bool
		targets []string
	}{
		"all":     {inTurn(first, last), 9, []recoup.ID{id(1), id(2), id(3)}, false, []string{"/v1/errors?limit=1000&table=t", "/v1/errors?cursor=n1&limit=1000&table=t"}},
		"stopped": {inTurn(first, last), 1, []recoup.ID{id(1)}, false, []string{"/v1/errors?limit=1000&table=t"}},
		"failed": {inTurn(first, refuse(fault.New(fault.CodeInvalidAPIKey, ""))), 9, []recoup.ID{id(1), id(2)}, true,
			[]string{"/v1/errors?limit=1000&table=t", "/v1/errors?cursor=n1&limit=1000&table=t"}},
	} {
		s := serve(t, row.handler)
		var got []recoup.ID
		failed := false
		for e, err := range s.client(t).Errors.All(t.Context(), recoup.ErrorFilter{Table: "t"}) {
			if err != nil {
				failed = true
				continue
			}
			if got = append(got, e.ID); len(got) == row.stop {
				break
			}
		}
		var targets []string
		for _, r := range s.all() {
			targets = append(targets, r.target)
		}
		if !slices.Equal(got, row.want) || failed != row.failed || !slices.Equal(targets, row.targets) {
			t.Errorf("%s: got %v, %t by %v", name, got, failed, targets)
		}
	}
}

// The other iterators ask their own lists.
func TestOtherLists(t *testing.T) {
	t.Parallel()
	const row = `{"errors":[{}],"events":[{}]}`
	for want, walk := range map[string]func(*client.Client) int{
		"/v1/errors/parked?limit=1000":           func(c *client.Client) int { return count(c.Errors.AllParked(t.Context(), recoup.ParkedFilter{})) },
		"/v1/errors/archived?limit=1000&table=t": func(c *client.Client) int { return count(c.Errors.AllArchived(t.Context(), "t")) },
		"/v1/events?limit=1000":                  func(c *client.Client) int { return count(c.Events.All(t.Context(), recoup.EventFilter{})) },
		"/v1/events/export?rows=true":            func(c *client.Client) int { return count(c.Events.Export(t.Context(), recoup.DayFilter{})) },
	} {
		s := serve(t, reply(row))
		if n := walk(s.client(t)); n != 1 || s.all()[0].target != want {
			t.Errorf("got %d from %s, want %s", n, s.all()[0].target, want)
		}
	}
}

func count[T any](rows func(func(T, error) bool)) (n int) {
	for _, err := range rows {
		if err == nil {
			n++
		}
	}
	return n
}
