package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// addDeadLetters adds dead letters in two groups, one of which somebody has begun to
// work on.
func (s *Parts) addDeadLetters(ctx context.Context) error {
	if !s.hasDeadLetters() {
		return nil
	}
	now := s.Now()
	var failures []recoup.StageFailure
	for i := range 6 {
		f := recoup.StageFailure{
			Pipeline: Pipeline, Stage: "llm", Class: fault.CodeNetworkTimeout, Exhausted: true, LastStack: "*net.OpError: dial tcp: i/o timeout",
			Context: map[string]any{"upstream": "model-host", "attempts": map[string]any{"llm": 5}},
		}
		if i >= 4 {
			f.Stage, f.Class, f.Exhausted = "notify", fault.CodeValidationError, false
			f.LastStack = "the channel refused the message: title is missing"
			f.Context = map[string]any{"upstream": "channel", "upstream_status": 422, "attempts": map[string]any{"notify": 1}}
		}
		f.WorkID, f.FirstFailureAt, f.LastFailureAt = s.IDs.New(now), now.Add(-time.Duration(i+1)*11*time.Minute), now
		f.PayloadRef = fmt.Sprintf("s3://newsletter/issue-%d", i+1)
		failures = append(failures, f)
	}
	done, err := s.DeadLetters.Record(ctx, caller, failures, nil)
	if err != nil {
		return err
	}
	first := &done[0].Letter.Dead
	steps := []deadletter.Action{
		deadletter.Triage{Cause: recoup.CauseTransient, Stage: first.Stage, Class: first.Class, Exhausted: &first.Exhausted, Note: "the model host was down"},
		deadletter.Remediation{Link: "INC-7", UpstreamChecked: "it answers again"},
		deadletter.Validation{Idempotent: true},
	}
	for i, d := range done {
		if d.Err != nil {
			return d.Err
		}
		for _, step := range steps[:max(len(steps)-i, 0)] { // each a step behind the one before
			if _, err := s.DeadLetters.Take(ctx, caller, d.Letter.Dead.ErrorID, step, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// company is a candidate of the demo, and what came of each of its verifications:
// a reason, or that it passed.
type company struct {
	name, domain string
	results      []string
}

func companies() []company {
	const pass = recoup.VerdictPass
	return []company{
		{"Acme Tools", "acme.example", []string{pass}},
		{"Birch Foods", "birch.example", []string{"DOMAIN_NOT_FOUND", pass}},
		{"Cedar Logistics", "cedar.example", []string{"TIMEOUT", "TIMEOUT", pass}},
		{"Delta Clinics", "delta.example", []string{"DOMAIN_NOT_FOUND", "DOMAIN_NOT_FOUND", "DOMAIN_NOT_FOUND", "DOMAIN_NOT_FOUND"}},
		{"Elm Studios", "elm.example", []string{"DOMAIN_NO_IMPRINT", "DOMAIN_NO_IMPRINT", "DOMAIN_NO_IMPRINT"}},
		{"Fir and Sons", "fir.example", []string{"API_UNAVAILABLE", "API_UNAVAILABLE"}},
		{"Grove Bakery", "grove.example", nil},
	}
}

// demoBatch is the batch of the demo.
const demoBatch = "2026_annual_outreach"

// addBatch adds a batch whose import was eleven days ago, with what has become of
// it since; in a database with a clock of its own, one that was imported just now.
func (s *Parts) addBatch(ctx context.Context) error {
	at, waits := s.Now(), []time.Duration{0, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour}
	if s.OwnClock { // it cannot be taken back: only the first round has been
		waits = waits[:1]
	} else {
		at = at.Add(-11*24*time.Hour - time.Hour)
		s.Store.UseClock(func() time.Time { return at })
		defer s.Store.UseClock(s.Now)
	}
	gate, err := gatezero.New(gatezero.Options{
		Store: gatezero.NewStore(s.Store.SQL()), Audit: s.Store, Gate: s.Gate, Now: func() time.Time { return at }, IDs: s.IDs,
	})
	if err != nil {
		return err
	}
	var rows []gatezero.Row
	results := map[string][]string{}
	for i, c := range companies() {
		if slices.ContainsFunc(c.results, func(r string) bool { return r != recoup.VerdictPass && !hasReason(gate.Gate(), r) }) {
			continue
		}
		rows = append(rows, gatezero.Row{Line: i + 1, Intake: recoup.Intake{CompanyName: c.name, Domain: c.domain}})
		results[c.domain] = c.results
	}
	if _, err := gate.CreateBatch(ctx, demoBatch); err != nil {
		return err
	}
	if _, err := gate.Import(ctx, demoBatch, rows); err != nil {
		return err
	}
	if _, err := gate.Complete(ctx, demoBatch, store.Act{By: "demo", At: at}); err != nil {
		return err
	}
	for round, wait := range waits {
		at = at.Add(wait)
		if err := verifyRound(ctx, gate, round, results); err != nil {
			return err
		}
	}
	return nil
}

// verifyRound is a worker that verifies what there is. What it has no result for
// goes back.
func verifyRound(ctx context.Context, gate *gatezero.Service, round int, results map[string][]string) error {
	cases, err := gate.Claim(ctx, recoup.GateZeroClaim{Worker: "demo", Limit: sqldb.MaxPage, BatchID: demoBatch})
	if err != nil {
		return err
	}
	var found []recoup.GateZeroResult
	for _, c := range cases {
		r := recoup.GateZeroResult{IntakeID: c.Intake.ID, RecoveryID: c.Recovery.ID, LeaseToken: c.Lease.LeaseToken, Worker: "demo"}
		if known := results[c.Intake.Domain]; len(known) > round {
			found = append(found, verdict(r, known[round]))
		} else if !r.RecoveryID.IsZero() {
			if err := gate.GiveBack(ctx, r.RecoveryID, r.LeaseToken); err != nil {
				return err
			}
		}
	}
	outcomes, err := gate.Record(ctx, found)
	for _, o := range outcomes {
		if o.Err != nil {
			return o.Err
		}
	}
	return err
}

func verdict(r recoup.GateZeroResult, result string) recoup.GateZeroResult {
	if r.Verdict = result; result != recoup.VerdictPass {
		r.Verdict, r.Reason = recoup.VerdictFail, result
	}
	return r
}

func hasReason(g policy.GateZero, name string) bool {
	return slices.ContainsFunc(g.Reasons, func(d policy.Description) bool { return d.Name == name })
}
