package bench

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// BenchmarkPages asks for every page of the console on a database with a million errors
// and five million events, and beside each for a plain list of as many errors by the
// API, until the first byte. Targets: 150 ms for 95 of 100, and three times the list.
// With -short there are 50,000 errors and 250,000 events.
func BenchmarkPages(b *testing.B) {
	f := fillPostgres(b, large(b))
	groupErrors(b, f)
	v := newVisitor(b, live.Start(b, app.Options{Database: strings.Replace(f.owner.Config().ConnString(), "recoup_owner", "recoup_app", 1), Now: present, Limits: httpapi.Limits{PerKey: 1 << 20}}))
	var errorID, groupID recoup.ID
	must(b, f.owner.QueryRow(b.Context(), "select error_id, group_id from recoup.error where state = 'PARKED' limit 1").Scan(&errorID, &groupID))
	for _, p := range []struct{ name, path string }{
		{"now", ""}, {"groups", "groups"}, {"one-group", "groups/" + groupID.String()}, {"errors", "errors"}, {"filtered", "errors?state=PARKED&code=CODE_2"},
		{"one-error", "errors/" + errorID.String()}, {"park", "park"}, {"promotion", "promotion?entity=CO-17"}, {"dead-letters", "dead-letters"}, {"operations", "operations"},
		{"alerts", "alerts"}, {"gate-zero", "gate-zero"}, {"codes", "codes"}, {"policy", "policy"}, {"admin", "admin"}, {"audit", "audit"},
	} {
		b.Run(p.name, func(b *testing.B) {
			var pages, lists []time.Duration
			for b.Loop() {
				pages = append(pages, v.firstByte("/console/"+p.path))
				lists = append(lists, v.firstByte("/v1/errors?limit=50"))
			}
			page, list := share(pages, 0.95), share(lists, 0.95)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(share(pages, 0.5)), "ms")
			b.ReportMetric(ms(page), "p95-ms")
			b.ReportMetric(ms(list), "list-p95-ms")
			b.ReportMetric(float64(share(pages, 0.5))/float64(share(lists, 0.5)), "times-list")
		})
	}
}

// groupErrors counts the groups of the errors.
func groupErrors(b *testing.B, f filled) {
	b.Helper()
	execute(b, f.owner, `insert into recoup.error_group (group_id, table_name, code, example, first_seen_at, last_seen_at, total, active, retry_pending, parked, escalated, resolved)
		select group_id, table_name, min(code), 'it took too long', min(created_at), max(created_at), count(*), count(*) filter (where state = 'ACTIVE'),
			count(*) filter (where state = 'RETRY_PENDING'), count(*) filter (where state = 'PARKED'), count(*) filter (where state = 'ESCALATED'), count(*) filter (where state = 'RESOLVED')
		from recoup.error where group_id is not null group by group_id, table_name`)
	execute(b, f.owner, `insert into recoup.error_group_hour select group_id, date_trunc('hour', created_at, 'UTC'), count(*) from recoup.error where group_id is not null group by 1, 2`)
	execute(b, f.owner, "analyze")
}

// visitor is somebody who has signed in to the console, and has a key besides.
type visitor struct {
	*testing.B
	base, key string
	http      *http.Client
}

func newVisitor(b *testing.B, n *live.Node) *visitor {
	b.Helper()
	jar, err := cookiejar.New(nil)
	must(b, err)
	v := &visitor{b, n.URL, n.Key, &http.Client{Jar: jar}}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, n.URL+"/console/sign-in", strings.NewReader(url.Values{"key": {n.Key}}.Encode()))
	must(b, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := v.http.Do(r)
	must(b, err)
	must(b, resp.Body.Close())
	return v
}

// firstByte is how long the first byte of an answer takes.
func (v *visitor) firstByte(path string) (took time.Duration) {
	v.Helper()
	var began time.Time
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(v.Context(), &httptrace.ClientTrace{
		WroteHeaders:         func() { began = time.Now() },
		GotFirstResponseByte: func() { took = time.Since(began) },
	}), http.MethodGet, v.base+path, http.NoBody)
	must(v, err)
	if !strings.HasPrefix(path, "/console/") {
		r.Header.Set("Authorization", "Bearer "+v.key)
	}
	resp, err := v.http.Do(r)
	must(v, err)
	body, err := io.ReadAll(resp.Body)
	must(v, err)
	must(v, resp.Body.Close())
	if resp.StatusCode != http.StatusOK || strings.Contains(resp.Request.URL.Path, "sign-in") {
		v.Fatalf("%s: %d %.500s", path, resp.StatusCode, body)
	}
	return took
}

// share is the time within which this share of the answers came.
func share(list []time.Duration, of float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(of*float64(len(sorted))))]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }
