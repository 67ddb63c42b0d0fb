package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// edits are what a next version may say otherwise: words of the default file, and
// what stands in their place.
func edits() [][2]string {
	return [][2]string{
		{"SHORT:    {lasts: 7d", "SHORT:    {lasts: 3d"},
		{"MEDIUM:   {lasts: 30d", "MEDIUM:   {lasts: 10d"},
		{"LONG:     {lasts: 90d", "LONG:     {lasts: 200d"},
		{"max_retries: 5            # an EIN", "max_retries: 9            # an EIN"},
		{"max_retries: 5\n      schedule: {kind: exponential", "max_retries: 1\n      schedule: {kind: exponential"},
		{"window: 24h", "window: 1m"},
		{"window: 7d", "window: 30d"},
		{"LOW:      {disposition: IGNORE, otherwise: ARCHIVE, ttl: LONG}", "LOW:      {}"},
		{"CRITICAL: {disposition: PARK, park_reason: ESCALATION_REQUIRED}", "CRITICAL: {}"},
		{"HIGH:     {disposition: RETRY, ttl: SHORT}", "HIGH:     {disposition: ARCHIVE}"},
		{"codes: [MISSING_REQUIRED_FIELD]", "codes: [MISSING_REQUIRED_FIELD, NETWORK_TIMEOUT]"},
		{"team: dol-filings-team", "team: filings"},
		{"after: 48h, review_within: 8h", "after: 24h, review_within: 2h"},
		{"\n    - {tier: 3, owner: PLATFORM_TEAM, after: 7d, review_within: 4h}", ""},
		{"expiry_notice: 24h", "expiry_notice: 48h"},
		{"allowed: [RETRY, PARK, ARCHIVE]\n    blocks: true\n    because: DOL", "allowed: [RETRY, ARCHIVE]\n    blocks: true\n    because: DOL"},
		{"blocks: true\n    because: DOL", "blocks: false\n    because: DOL"},
		{"default: RETRY\n    allowed: [RETRY, PARK, ARCHIVE]\n    blocks: true\n    because: No slot",
			"default: PARK\n    park_reason: DATA_QUALITY\n    allowed: [PARK, ARCHIVE]\n    blocks: true\n    because: No slot"},
		{"default: ARCHIVE\n    allowed: [RETRY, ARCHIVE]\n    blocks: false", "default: RETRY\n    allowed: [RETRY, PARK, ARCHIVE]\n    blocks: true"},
		{tableText(discovery), ""},
	}
}

// nextVersion draws a policy that the loader accepts.
func nextVersion(t *rapid.T, version string) *policy.Policy {
	file := strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: "+version, 1)
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(edits())-1), 0, 6, rapid.ID).Draw(t, "edits") {
		file = strings.Replace(file, edits()[i][0], edits()[i][1], 1)
	}
	p, err := policy.Load(version+".yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// live reports some failures and lets some of what can happen to them happen.
func (w *world) live(t *rapid.T, entity string) {
	w.Helper()
	tables := []string{dol, dol, target, target, people, people, discovery, errorLog, "no.such_table", masterLog}
	codes := []string{"NETWORK_TIMEOUT", "NETWORK_TIMEOUT", "UNREGISTERED_CODE", "VALIDATION_ERROR"}
	var reports []recoup.Report
	for i := range rapid.IntRange(3, 8).Draw(t, "reports") {
		r := failing(rapid.SampledFrom(tables).Draw(t, "table"), fmt.Sprint(entity, i/2), rapid.SampledFrom(codes).Draw(t, "code"))
		r.Severity = rapid.SampledFrom(append(recoup.Severities(), "")).Draw(t, "severity")
		reports = append(reports, r)
	}
	made := w.Report(reports...)
	for range rapid.IntRange(0, 3).Draw(t, "rounds") {
		w.Wait(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 5 * time.Minute, 30 * time.Hour}).Draw(t, "pass"))
		claimed, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{Worker: "w1", Limit: 2})
		if err != nil {
			w.Fatal(err)
		}
		var acts []engine.Act
		for _, e := range made {
			acts = append(acts, engine.Act{ID: e.ID, Input: rapid.SampledFrom([]lifecycle.Input{
				lifecycle.Park{Reason: "look"}, lifecycle.Unpark{Reason: "try"}, lifecycle.Escalate{Reason: "up"},
				lifecycle.Review{}, lifecycle.Assign{To: "bob"}, lifecycle.Extend{}, lifecycle.Extend{},
			}).Draw(t, "act")})
		}
		for _, e := range claimed {
			if rapid.Bool().Draw(t, "fails") {
				failure, _ := w.Engine.Failure("NETWORK_TIMEOUT", nil, 0)
				acts = append(acts, engine.Act{ID: e.ID, Input: lifecycle.Fail{Token: e.LeaseToken, Failure: failure}})
			}
		}
		if _, err := w.Engine.Apply(w.Context(), ada, acts); err != nil {
			w.Fatal(err)
		}
	}
}

// predictions returns what the plan predicts, by error.
func (w *world) predictions(next *policy.Policy) map[recoup.ID]engine.Prediction {
	w.Helper()
	predicted := map[recoup.ID]engine.Prediction{}
	for x, err := range w.Engine.Predict(w.Context(), ada, next) {
		if err != nil {
			w.Fatal(err)
		}
		predicted[x.Before.ID] = x
	}
	return predicted
}

// What was predicted equals what happens, row by row and in sum, whatever the next
// version says and through one version after another.
func TestPredictedEqualsHappened(t *testing.T) {
	everywhere(t, func(w *world) {
		n := 1
		rapid.Check(w.T, func(t *rapid.T) {
			if n++; w.sql != nil && n%5 != 0 {
				return // a version costs PostgreSQL all its views: a fifth of the draws must do
			}
			w.live(t, fmt.Sprint("v", n, "e"))
			next := nextVersion(t, fmt.Sprint(n, ".0.0"))
			predicted, plan := w.predictions(next), w.plan(ada, next)
			w.follow(next)
			result := w.rebase(ada, next)
			if !reflect.DeepEqual(result.Plan, plan) || result.Ended != 0 {
				t.Fatalf("\nplanned %+v\ndid     %+v", plan, result)
			}
			for id, x := range predicted {
				w.compare(t, w.Read(id), x)
			}
			w.clear(t)
		})
	})
}

// compare holds a row to its prediction, and the prediction's words to the change.
func (w *world) compare(t *rapid.T, got recoup.Error, x engine.Prediction) {
	var refusal *lifecycle.Refusal
	want := x.After
	switch {
	case x.Kept != nil && !errors.As(x.Kept, &refusal):
		t.Fatalf("kept because of %v", x.Kept)
	case x.Kept != nil:
		want = x.Before
	case len(x.Changes) == 0:
		plain := x.Before
		plain.PolicyVersion, plain.UpdatedAt = got.PolicyVersion, got.UpdatedAt
		if plain != got {
			t.Fatalf("changed without a word:\nwas %+v\nis  %+v", x.Before, got)
		}
	}
	if got != want {
		t.Fatalf("\npredicted %+v\nhappened  %+v", want, got)
	}
}

// clear ends what can be ended, so that every draw costs the same.
func (w *world) clear(t *rapid.T) {
	if _, err := w.previewed(ada, engine.Bulk{Input: lifecycle.ArchiveNow{Reason: "next draw"}}); err != nil {
		t.Fatal(err)
	}
	left, _, err := w.DB.Errors(w.Context(), store.Filter{}, sqldb.Page{Limit: sqldb.MaxPage})
	for _, e := range left {
		if e.Table != masterLog {
			t.Fatalf("%s is left in %s", e.State, e.Table)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
