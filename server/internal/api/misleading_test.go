package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
)

// misleading are pieces of JSON strings that make a name look like another one, and
// what is said of them.
func misleading() map[string]string {
	return map[string]string{
		`\ud800`: "printable", `\udc00x`: "printable", "\u202e": "visible", "\u2066": "visible", "\u200b": "visible", `\u200d`: "visible",
		"\ufeff": "visible", "\u00ad": "visible", "\u2028": "printable", `\u0007`: "printable",
	}
}

// A name that cannot be seen, that runs the other way or that is half a character
// is refused wherever a name is taken, with the field and the reason.
func TestMisleadingNames(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *world{"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			for piece, constraint := range misleading() {
				for _, row := range []struct{ path, body, field string }{
					{"/v1/errors", `{"table": "outreach.dol_errors", "entity_id": "E@1", "code": "NETWORK_TIMEOUT"}`, "entity_id"},
					{"/v1/errors", `{"table": "outreach.dol_errors", "entity_id": "E1", "code": "NETWORK_TIMEOUT", "service": "im@port"}`, "service"},
					{"/v1/retries/claim", `{"worker": "w@1"}`, "worker"},
					{"/v1/promotions", `{"entity_id": "P@1", "phase": "outreach"}`, "entity_id"},
					{"/v1/keys", `{"name": "a@b", "role": "reader"}`, "name"},
					{"/v1/gate-zero/intakes", `{"company_name": "Acme", "state": "T@X"}`, "state"},
				} {
					w.post(row.path, strings.Replace(row.body, "@", piece, 1)).invalid(row.field, constraint)
				}
				if a := w.post("/v1/events", `{"code": "NETWORK_TIMEOUT", "service": "im`+piece+`port"}`); !strings.Contains(a.Body.String(), `"`+constraint+`"`) {
					t.Errorf("an event of the service im%sport: %d %s", piece, a.Code, a.Body)
				}
			}
		})
	}
}

// The first moment of the year 1 is a time, not the lack of one.
func TestYearOneIsATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, first := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "0000-12-31T23:00:00-01:00"} {
		w.post("/v1/processed", `{"counts": [{"service": "import", "count": 1, "minute": "`+first+`"}]}`).invalid("counts[0].minute", "range")
		w.post("/v1/operations", `{"act": "park", "filter": {"table": "outreach.dol_errors", "before": "`+first+`"}}`).invalid("filter.before", "range")
		w.do("admin", http.MethodGet, "/v1/errors?before="+strings.ReplaceAll(first, "+", "%2B"), nil).invalid("before", "range")
		for _, body := range []string{`{"code": "NETWORK_TIMEOUT", "service": "import", "ts": "` + first + `"}`, `{"events": [{"code": "NETWORK_TIMEOUT", "service": "import", "ts": "` + first + `"}]}`} {
			if a := w.post("/v1/events", body); !strings.Contains(a.Body.String(), "ts") || !strings.Contains(a.Body.String(), `"range"`) {
				t.Errorf("%s: %d %s", body, a.Code, a.Body)
			}
		}
		letter := w.post("/v1/dead-letters", `{"first_failure_at": "`+first+`"}`)
		if text := letter.Body.String(); letter.Code != http.StatusBadRequest || !strings.Contains(text, "first_failure_at must be a time") || strings.Contains(text, "leave it out") {
			t.Errorf("the time is required, and the answer is %d %s", letter.Code, text)
		}
		line := `{"code":"NETWORK_TIMEOUT","service":"import","ts":"` + first + `"}` + "\n"
		if a := w.post("/v1/events", line, "Content-Type", "application/x-ndjson"); a.Code < 400 && !strings.Contains(a.Body.String(), `"ts"`) {
			t.Errorf("a line with %s: %d %s", first, a.Code, a.Body)
		}
	}
}

// What is stored as an address is one of the web: pages show it as a link.
func TestStoredAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	letter := w.letter(recoup.StepTriaged)
	for _, address := range []string{"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//example.org", "JaVaScRiPt://example.org/%0aalert(1)"} {
		w.post("/v1/gate-zero/intakes", recoup.NewIntake{CompanyName: "Acme", LinkedInURL: address}).invalid("linkedin_url", "scheme")
		w.post("/v1/dead-letters/"+letter.ErrorID.String()+"/remediate", recoup.Remediation{Link: address, Corrected: "the title"}).invalid("link", "scheme")
	}
	for _, address := range []string{"", "https://www.linkedin.com/company/example", "linkedin.com/company/example"} {
		w.post("/v1/gate-zero/intakes", recoup.NewIntake{CompanyName: "Acme" + address, LinkedInURL: address}).ok()
	}
}

// A class is kept in upper case: it is looked at as it came and as it is kept.
func TestSecretClasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, class := range []string{"ghp_" + strings.Repeat("aB3dE6", 6), "akia" + strings.Repeat("q7z2", 4), "hf_" + strings.Repeat("xY9z", 9), "npm_" + strings.Repeat("k3Lm", 9)} {
		letter := w.breakdown(w.pipeline(""))
		letter.Class = recoup.Code(class)
		w.post("/v1/dead-letters", letter).invalid("error_class", "no_secret")
		w.post("/v1/errors", map[string]any{"table": "outreach.dol_errors", "entity_id": "E1", "code": class}).invalid("code", "no_secret")
	}
}
