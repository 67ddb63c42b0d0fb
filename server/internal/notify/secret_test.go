package notify_test

import (
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/redact/redacttest"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestNothingPrivate plants secrets and people wherever an error and a notice have
// room for text, and looks for them in all that receivers got.
func TestNothingPrivate(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		samples := redacttest.Samples(7)
		for some := range slices.Chunk(samples, 25) {
			var failures []lifecycle.Report
			var lines, jobs []string
			for _, sample := range some {
				in := w.Failing(dol, fmt.Sprint("entity-", w.Now().UnixMicro()), "RUNTIME_BUG", recoup.Medium)
				in.Message = "it failed: " + sample.Text
				failures = append(failures, in)
				quoted, err := json.Marshal(sample.Text)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprintf(`{"alert_id":%q,"rule":"r","scope":%s,"condition":"c","hint":%s,"since":"2026-02-02T08:00:00Z"}`, in.ID, quoted, quoted))
				jobs = append(jobs, string(quoted))
				w.Wait(time.Microsecond)
			}
			w.ReportAll(failures...)
			for _, to := range []string{"platform-team", "platform-lead", "dol-filings-lead", "company-target-team"} {
				w.enqueue(notice(wire.NoticeAlert, to, `{"page":true,"alerts":[`+strings.Join(lines, ",")+`],"message":`+jobs[0]+`}`))
			}
			for _, text := range jobs {
				w.enqueue(notice(wire.NoticePolicyRefused, "platform-lead", `{"problem":`+text+`,"in_force":"1.0.0"}`),
					notice(wire.NoticeJobLate, "dol-filings-lead", `{"job":`+text+`,"lag_seconds":90}`))
			}
		}
		w.run()
		w.Wait(15 * time.Minute)
		w.run()
		w.pending(0)
		said := w.everything()
		for _, s := range samples {
			if slices.ContainsFunc(s.Traces(), func(trace string) bool { return strings.Contains(said, trace) }) {
				t.Errorf("a receiver got %q of the rule %s", s.Secret, s.Rule)
			}
		}
		for _, private := range []string{"it failed", "entity-", "problem"} {
			if strings.Contains(said, private) {
				t.Errorf("a receiver got %q", private)
			}
		}
		for _, wanted := range []string{"RUNTIME_BUG in outreach.dol_errors", "1.0.0 is in force"} {
			if !strings.Contains(said, wanted) {
				t.Errorf("no receiver got %q", wanted)
			}
		}
	})
}

// everything is all that left the house, as its readers see it.
func (w *world) everything() string {
	var all strings.Builder
	for _, r := range []*receiver{w.chat, w.pager, w.hook} {
		if len(r.all()) == 0 {
			w.T.Error("a receiver got nothing")
		}
		for _, v := range r.bodies() {
			fmt.Fprintln(&all, v) // decoded, so that no escape hides anything
		}
		for _, got := range r.all() {
			fmt.Fprintf(&all, "%s %v\n", got.body, got.header)
		}
	}
	for _, m := range w.mail.received() {
		_, body, _ := strings.Cut(m.text, "\r\n\r\n")
		decoded, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(body)))
		if err != nil {
			w.T.Error(err)
		}
		fmt.Fprintf(&all, "%s\n%s\n", m.text, decoded)
	}
	return all.String() + w.log.String()
}
