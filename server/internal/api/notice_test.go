package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func noticeExamples(list map[string]example) {
	list["GET /v1/notices"] = fixed("/v1/notices?state=GIVEN_UP&to=platform-team&kind=PAGE", nil, refusedThere)
	list["POST /v1/notices/resend"] = fixed("/v1/notices/resend", wire.NoticeResend{IDs: []recoup.ID{{1}}, Reason: "a try"}, refusedThere)
	list["POST /v1/channels/{name}/test"] = fixed("/v1/channels/log/test", struct{}{}, refusedThere)
}

// giveUp puts notices into the outbox, of which the named ones are given up.
func (w *world) giveUp(keys ...string) {
	w.Helper()
	var list []wire.Notice
	for _, key := range append(keys, "delivered") {
		list = append(list, wire.Notice{Kind: wire.NoticeAlert, To: "platform-team", Key: key, Body: `{"alerts":[]}`})
	}
	if _, err := w.store.AddNotices(w.Context(), w.clock(), list); err != nil {
		w.Fatal(err)
	}
	claimed, err := w.store.ClaimNotices(w.Context(), w.clock(), time.Minute, 100)
	if err != nil {
		w.Fatal(err)
	}
	var done []store.Delivery
	for _, n := range claimed {
		done = append(done, store.Delivery{ID: n.ID, Attempt: n.Attempts, Delivered: !slices.Contains(keys, n.Key), Error: "chat: answered with status 400"})
	}
	if _, err := w.store.FinishNotices(w.Context(), w.clock(), done); err != nil {
		w.Fatal(err)
	}
}

// TestNotices wants what was given up to be seen, requeued once, and audited.
func TestNotices(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) *world{"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.giveUp("a", "b")
			w.report(dol, w.entity(), func(r *recoup.Report) { r.Severity = recoup.Critical })
			var page wire.NoticePage
			w.do("operator", http.MethodGet, "/v1/notices?state=GIVEN_UP", nil).ok(&page)
			if len(page.Notices) != 2 || page.Notices[0].LastError == "" || page.Notices[0].State != wire.NoticeGivenUp || page.Notices[0].GivenUpAt.IsZero() {
				t.Fatalf("given up are %+v", page.Notices)
			}
			ids := []recoup.ID{page.Notices[0].ID, page.Notices[1].ID}
			for _, want := range []int{2, 0} {
				var resent wire.NoticeResent
				w.do("operator", http.MethodPost, "/v1/notices/resend", wire.NoticeResend{IDs: ids, Reason: "the chat works again"}).ok(&resent)
				if resent.Resent != want {
					t.Errorf("%d were put in again, want %d", resent.Resent, want)
				}
			}
			w.do("operator", http.MethodGet, "/v1/notices?state=WAITING&kind=ALERT", nil).ok(&page)
			if len(page.Notices) != 2 || page.Notices[0].ResendOf.IsZero() || string(page.Notices[0].Body) == "" {
				t.Errorf("waiting are %+v", page.Notices)
			}
			w.do("operator", http.MethodGet, "/v1/notices?to=dol-filings-team&limit=1", nil).ok(&page)
			if len(page.Notices) != 1 || page.Notices[0].ErrorID.IsZero() || page.Notices[0].Kind != wire.NoticeParked {
				t.Errorf("the team hears %+v", page.Notices)
			}
			var audit wire.AuditPage
			w.get("/v1/audit?act=" + store.ActNoticeResend).ok(&audit)
			if len(audit.Entries) == 0 || audit.Entries[0].Reason != "the chat works again" {
				t.Errorf("the audit has %+v", audit.Entries)
			}
			for _, bad := range []string{"state=LOST", "kind=NOISE", "limit=0", "cursor=x"} {
				w.do("operator", http.MethodGet, "/v1/notices?"+bad, nil).failed(http.StatusBadRequest, fault.CodeValidationError)
			}
			w.do("operator", http.MethodPost, "/v1/notices/resend", wire.NoticeResend{}).failed(http.StatusBadRequest, fault.CodeValidationError)
		})
	}
}

// TestChannels wants to know whether a channel works, and its secrets to stay.
func TestChannels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *world, o *app.Options) {
		o.Channels = []notify.Config{{Name: "chat", Kind: notify.Slack, Values: map[string]string{"url": "http://127.0.0.1:1/hunter2"}}}
	})
	var test wire.ChannelTest
	w.post("/v1/channels/log/test", struct{}{}).ok(&test)
	if !test.Accepted || test.Channel != "log" || test.Reason != "" {
		t.Errorf("got %+v", test)
	}
	answer := w.post("/v1/channels/chat/test", struct{}{})
	answer.ok(&test)
	if test.Accepted || test.Reason != "it refuses connections" || strings.Contains(answer.Body.String(), "hunter2") {
		t.Errorf("got %+v", test)
	}
	w.post("/v1/channels/pigeon/test", struct{}{}).failed(http.StatusNotFound, fault.CodeNotFound)
	for _, role := range []string{"operator", "reader"} {
		var found wire.Channels
		answer := w.do(role, http.MethodGet, "/v1/channels", nil)
		answer.ok(&found)
		if len(found.Channels) != 2 || found.Node == "" || strings.Contains(answer.Body.String(), "hunter2") {
			t.Fatalf("a %s sees %+v", role, found)
		}
		chat, log := found.Channels[0], found.Channels[1]
		if chat.Name != "chat" || chat.Kind != "slack" || chat.State != wire.ChannelRetrying || chat.LastFailure != test.Reason || chat.FailingSince.IsZero() || log.State != wire.ChannelUp || log.LastSuccessAt.IsZero() {
			t.Errorf("a %s sees %+v", role, found)
		}
	}
	w.do("worker", http.MethodGet, "/v1/channels", nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	var audit wire.AuditPage
	w.get("/v1/audit?act=channel.test").ok(&audit)
	if len(audit.Entries) != 2 || audit.Entries[0].Target != "chat" {
		t.Errorf("the audit has %+v", audit.Entries)
	}
}
