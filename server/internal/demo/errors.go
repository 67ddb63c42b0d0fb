package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// sample is one failure of the demo.
type sample struct {
	table, code string
	severity    recoup.Severity
	message     string
	n           int
}

// samples is a night's work of a data pipeline, as an operator finds it.
func samples() []sample {
	return []sample{
		{"outreach.dol_errors", "NETWORK_TIMEOUT", "", "the filing server did not answer within 30 s", 7},
		{"outreach.dol_errors", "EIN_MISMATCH", "", "the filing names another employer", 4},
		{"outreach.dol_errors", "RATE_LIMIT_EXCEEDED", "", "429 from the filing server", 5},
		{"outreach.company_target_errors", "DOMAIN_NOT_FOUND", "", "no such domain", 6},
		{"outreach.company_target_errors", "PATTERN_NOT_FOUND", recoup.High, "no address pattern fits", 3},
		{"people.people_errors", "MISSING_NAME", "", "the profile has no name", 4},
		{"people.people_errors", "VALIDATION_SERVICE_ERROR", "", "millionverifier is down for maintenance", 5},
		{"public.shq_master_error_log", "DATABASE_CONNECTION_ERROR", recoup.Critical, "connection pool exhausted", 1},
	}
}

// report is one of the sample's failures, without what it is about.
func (f *sample) report(service string, i int) recoup.Report {
	return recoup.Report{
		Table: f.table, Code: f.code, Severity: f.severity, Message: f.message,
		Service: service, Region: "eu-central-1", Endpoint: fmt.Sprintf("/import/%d", i%3),
	}
}

func (s *Parts) addErrors(ctx context.Context) error {
	p := s.Engine.Policies.Current()
	var reports []recoup.Report
	for _, f := range samples() {
		if _, ok := p.Table(f.table); !ok {
			continue
		}
		for i := range f.n {
			r := f.report("nightly-import", i)
			r.EntityID = fmt.Sprintf("CO-20260205-%06d", len(reports)%17+1)
			reports = append(reports, r)
		}
	}
	out, err := s.Engine.Report(ctx, caller, reports)
	if err != nil {
		return err
	}
	return s.parkSome(ctx, out)
}

// parkSome lets an operator have been there before.
func (s *Parts) parkSome(ctx context.Context, reported []engine.Reported) error {
	var acts []engine.Act
	for i, r := range reported {
		if r.Err != nil {
			return r.Err
		}
		switch {
		case r.Error.State == recoup.RetryPending && i%5 == 0:
			acts = append(acts, engine.Act{ID: r.Error.ID, Input: lifecycle.Park{Reason: recoup.ExternalDependency}})
		case r.Error.State == recoup.Parked && i%4 == 0:
			acts = append(acts, engine.Act{ID: r.Error.ID, Input: lifecycle.Assign{To: "ada", Reason: "knows this filing"}})
		case r.Error.State == recoup.Parked && i%4 == 1:
			acts = append(acts, engine.Act{ID: r.Error.ID, Input: lifecycle.Escalate{Reason: "third time this week"}})
		}
	}
	outcomes, err := s.Engine.Apply(ctx, caller, acts)
	return errors.Join(err, unexpected(outcomes))
}
