package endtoend

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// inbox is a channel's other end: it keeps what it is sent.
func inbox(t *testing.T) (url string, got *text) {
	t.Helper()
	got = &text{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(got, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// With the default policy, whose routes name nothing but the log, SLACK_ALERT
// reaches the one Slack and a page the one pager that there is (spec 000, 11.2;
// spec 001).
func TestActionsReachTheirOnlyChannel(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		chat, said := inbox(t)
		pager, paged := inbox(t)
		s := newSite(t, d)
		s.env = []string{
			"RECOUP_CHANNELS=chat,pager", "RECOUP_CHANNEL_CHAT_KIND=slack", "RECOUP_CHANNEL_CHAT_URL=" + chat,
			"RECOUP_CHANNEL_PAGER_KIND=pagerduty", "RECOUP_CHANNEL_PAGER_KEY=0123456789abcdef0123456789abcdef", "RECOUP_CHANNEL_PAGER_URL=" + pager,
		}
		s.start()
		if strings.Contains(s.log.String(), "reach only the log") {
			t.Errorf("every action has its channel, and the node says\n%s", s.log)
		}
		s.fail("DATABASE_CONNECTION_ERROR", 40)
		s.done("/v1/processed", `{"counts": [{"service": "import", "count": 100, "failed": 50}]}`)
		s.until("alerts are not judged", func() reply { // as soon as the node leads
			return s.ask(http.MethodPost, "/v1/jobs/alerts/run", `{"reason": "because"}`)
		}, serves)
		s.until("SLACK_ALERT has not reached Slack", s.ready, func(reply) bool { return strings.Contains(said.String(), "request-error-rate") })
		s.until("PAGE_ON_CALL has not reached the pager", s.ready, func(reply) bool { return strings.Contains(paged.String(), "database-errors") })
		if strings.Contains(paged.String(), "request-error-rate") {
			t.Error("what is only for Slack has woken somebody")
		}
	})
}

// A failure that only a fix helps is dead-lettered and pages the platform's operator,
// and so is one that is reported; what a person has to correct pages nobody (spec 002,
// 8.1).
func TestRuntimeBugsPage(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		pager, paged := inbox(t)
		s := newSite(t, d)
		s.env = []string{"RECOUP_CHANNELS=pager", "RECOUP_CHANNEL_PAGER_KIND=pagerduty", "RECOUP_CHANNEL_PAGER_KEY=0123456789abcdef0123456789abcdef", "RECOUP_CHANNEL_PAGER_URL=" + pager}
		s.start()
		for i, class := range []string{"SCHEMA_INVALID", "RUNTIME_BUG", "CONFIGURATION_ERROR"} { // in this order: what must not page is sent first
			s.done("/v1/dead-letters", fmt.Sprintf(`{"work_id": "0198c0de-0000-7000-8000-00000000000%d", "pipeline": "criticizer", "stage": "llm", "error_class": %q,
				"last_stack": "none", "sanitized_context": {"attempts": {"llm": 1}}, "first_failure_at": "2026-02-02T09:00:00Z", "last_failure_at": "2026-02-02T09:00:00Z"}`, i, class))
		}
		s.done("/v1/errors", `{"table": "outreach.dol_errors", "entity_id": "CO-7", "code": "RUNTIME_BUG"}`)
		for _, want := range []string{"RUNTIME_BUG in pipeline.dead_letters", "CONFIGURATION_ERROR in pipeline.dead_letters", "RUNTIME_BUG in outreach.dol_errors"} {
			s.until("nobody is paged for "+want, s.ready, func(reply) bool { return strings.Contains(paged.String(), want) })
		}
		if got := paged.String(); strings.Contains(got, "SCHEMA_INVALID") || !strings.Contains(got, `"to":"platform-team"`) {
			t.Errorf("it pages %s", got)
		}
	})
}

// A node says at its start which action reaches nobody.
func TestActionsThatReachNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	chat, _ := inbox(t)
	other, _ := inbox(t)
	s.env = []string{ // two of a kind: nobody knows which is meant
		"RECOUP_CHANNELS=chat,other", "RECOUP_CHANNEL_CHAT_KIND=slack", "RECOUP_CHANNEL_CHAT_URL=" + chat,
		"RECOUP_CHANNEL_OTHER_KIND=slack", "RECOUP_CHANNEL_OTHER_URL=" + other,
	}
	s.start()
	for _, action := range []string{"SLACK_ALERT", "PAGE_ON_CALL", "PAGE_PLATFORM_ON_CALL"} {
		if !strings.Contains(s.log.String(), "reach only the log") || !strings.Contains(s.log.String(), "action="+action) {
			t.Errorf("%s reaches nobody, and the node says\n%s", action, s.log)
		}
	}
}

// done sends what must succeed.
func (s *site) done(path, body string) {
	s.Helper()
	if got := s.ask(http.MethodPost, path, body); got.status >= 300 {
		s.Fatalf("%s: %d %s", path, got.status, got.body)
	}
}

// fail sends events of a code, and waits until they are written.
func (s *site) fail(code string, n int) {
	s.Helper()
	event := fmt.Sprintf(`{"code": %q, "service": "import"}`, code)
	s.done("/v1/events", "["+strings.Repeat(event+",", n-1)+event+"]")
	s.until("the events are not there", func() reply { return s.ask(http.MethodGet, "/v1/events?service=import", "") },
		func(r reply) bool { return strings.Contains(r.body, code) })
}
