package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// FuzzGovern sends anything in every field: an event is refused in the words of
// the contract, or it is one that every store takes and that holds no secret.
func FuzzGovern(f *testing.F) {
	f.Add("NETWORK_TIMEOUT", "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T", "billing", "POST /v1/x?y=1", "eu-west-1", "zerobounce", "acme", "field", "items[0]", 503, int64(0))
	f.Add("rate_limited", "", "a\x00b", "\xff", "\u0085", "x", "", "limit", "9", -1, int64(1)<<62)
	f.Add("out_of_paper", "00000000-0000-0000-0000-000000000000", " ", "?", "", "", "t", "retryable", "true", 99, int64(-1)<<62)
	for i, secret := range secrets()[:60] {
		fields := [7]string{"NETWORK_TIMEOUT", "billing", "/x", "eu", "zerobounce", "acme", "x"}
		fields[i%len(fields)] = secret
		f.Add(fields[0], "", fields[1], fields[2], fields[3], fields[4], fields[5], "expected_etag", fields[6], 500, int64(i))
	}
	g, tally := newGovernor(f)
	f.Fuzz(func(t *testing.T, code, id, service, endpoint, region, external, tenant, key, value string, status int, ts int64) {
		in := ledger.Incoming{IDText: id, Event: recoup.Event{
			Code: recoup.Code(code), Service: service, Endpoint: endpoint, Region: region, ExternalService: external, Tenant: tenant,
			HTTPStatus: status, Details: map[string]any{key: value, "retryable": status%2 == 0, "limit": ts},
		}}
		if ts != 0 {
			in.TS = time.UnixMicro(ts)
		}
		before := sum(tally.Totals())
		got := govern(g, []ledger.Incoming{in})
		if len(got.Events)+len(got.Refused) != 1 {
			t.Fatalf("%d events and %d refusals", len(got.Events), len(got.Refused))
		}
		for _, r := range got.Refused {
			if r.Err.Code != fault.CodeValidationError || len(r.Err.Fields()) == 0 || sum(tally.Totals()) != before+1 {
				t.Errorf("refused with %v, counted %d", r.Err, sum(tally.Totals())-before)
			}
		}
		for i := range got.Events {
			if problem := unstorable(&got.Events[i]); problem != "" {
				t.Errorf("%s: %+v", problem, got.Events[i])
			}
		}
		if err := g.Inspect(epoch(), got.Events); err != nil {
			t.Errorf("what was governed may not come by the bus: %v: %+v", err, got.Events)
		}
	})
}

func sum(counts map[string]int64) (n int64) {
	for _, more := range counts {
		n += more
	}
	return n
}

// unstorable says what a store, or the rules, would refuse about an event.
func unstorable(e *store.Event) string {
	if def, ok := fault.Default().Lookup(e.Code); !ok || def.Code != e.Code {
		return "the code is not a registered one"
	}
	folded, err := recoup.ParseCode(string(e.ReportedCode))
	switch {
	case e.ReportedCode != "" && (err != nil || folded != e.ReportedCode || e.Code != fault.CodeUnregisteredCode):
		return "the reported code is none"
	case e.ID.IsZero() || e.CorrelationID.IsZero():
		return "there is no id"
	case e.Service == "":
		return "there is no service"
	case e.HTTPStatus != 0 && (e.HTTPStatus < 100 || e.HTTPStatus > 599):
		return "the status is none"
	case e.TS.Before(epoch().Add(-retention)) || e.TS.After(epoch().Add(24*time.Hour)) || e.TS.Nanosecond()%1000 != 0:
		return "the time is out of range"
	case e.Tenant != "" || (e.TenantHash == "") != (e.TenantKey == ""):
		return "the tenant is kept, or its hash is not"
	case strings.Contains(e.Endpoint, "?"):
		return "the endpoint has a query"
	}
	return unsafe(e)
}

// unsafe says which text of an event must not be stored.
func unsafe(e *store.Event) string {
	for _, s := range []string{e.Service, e.Endpoint, e.Region, e.ExternalService, string(e.ReportedCode)} {
		if len(s) > 200 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || redact.Default().Identifier(s) != nil {
			return fmt.Sprintf("%q is kept", s)
		}
	}
	if details := store.EncodeDetails(e.Details); len(details) > 1024 {
		return "the details are too large"
	}
	for key, v := range e.Details {
		if !strings.Contains(" retryable field limit window_sec expected_etag existing_id ", " "+key+" ") {
			return fmt.Sprintf("the detail %q is kept", key)
		}
		if text := fmt.Sprint(v); strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return fmt.Sprintf("the detail %q is kept", text)
		}
	}
	return ""
}
