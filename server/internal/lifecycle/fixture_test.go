package lifecycle_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// The tables of spec 000, by the names the tests use.
const (
	dol       = "outreach.dol_errors"
	target    = "outreach.company_target_errors"
	people    = "people.people_errors"
	discovery = "company.url_discovery_failures"
	errorLog  = "public.shq_error_log"
	masterLog = "public.shq_master_error_log"
	orphans   = "public.shq_orphan_errors"
	letters   = "pipeline.dead_letters"
)

const (
	day = 24 * time.Hour
)

var epoch = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// world steps errors through their lives under the default policy.
type world struct {
	testing.TB
	policy *policy.Policy
	ids    *recoup.IDSource
	now    time.Time
}

func newWorld(t testing.TB) *world {
	return &world{TB: t, policy: policy.Default(), ids: recoup.NewIDSource(rand.Reader), now: epoch}
}

func (w *world) id() recoup.ID { return w.ids.New(w.now) }

func (w *world) wait(d time.Duration) { w.now = w.now.Add(d) }

// failure classifies a code as the registry does, conditions unproven.
func failure(code recoup.Code) lifecycle.Failure {
	def, ok := fault.Default().Lookup(code)
	if !ok {
		panic("not registered: " + code)
	}
	return lifecycle.Failure{Code: code, Class: def.Effective(false), Category: def.Category}
}

func (w *world) reportOf(table string, code recoup.Code, severity recoup.Severity) lifecycle.Report {
	return lifecycle.Report{
		ID: w.id(), Table: table, EntityID: "CO-20240828-000001", Failure: failure(code), Severity: severity,
	}
}

// report makes a new error.
func (w *world) report(table string, code recoup.Code, severity recoup.Severity) recoup.Error {
	w.Helper()
	e, _ := w.must(nil, w.reportOf(table, code, severity))
	return e
}

// must applies an input that is expected to be accepted.
func (w *world) must(e *recoup.Error, in lifecycle.Input) (recoup.Error, lifecycle.Effects) {
	w.Helper()
	next, effects, err := lifecycle.Step(w.policy, e, in, w.now)
	if err != nil {
		w.Fatalf("%T: %v", in, err)
	}
	return next, effects
}

// claim leases an error and returns it with the token.
func (w *world) claim(e *recoup.Error) (recoup.Error, recoup.ID) {
	w.Helper()
	if e.NextRetryAt.After(w.now) {
		w.now = e.NextRetryAt
	}
	token := w.id()
	next, _ := w.must(e, lifecycle.Claim{Token: token, Worker: "w1"})
	return next, token
}

// failOnce runs one attempt that fails with the code.
func (w *world) failOnce(e *recoup.Error, code recoup.Code) recoup.Error {
	w.Helper()
	leased, token := w.claim(e)
	next, _ := w.must(&leased, lifecycle.Fail{Token: token, Failure: failure(code)})
	return next
}

// counting is a source of "randomness" that keeps ids short to read; the
// sequence inside the id makes it unique.
type counting struct{}

func (counting) Read(b []byte) (int, error) { return len(b), nil }
