package gatezero

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

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

// AddSamples adds a batch whose import was eleven days ago, with what has become of it since,
// to a service that is made of options. past lets acts happen by another clock until end is
// called; nil: the database has a clock of its own, and the batch was imported just now.
func AddSamples(ctx context.Context, o Options, past func(clock func() time.Time) (end func())) error {
	at, waits := o.Now(), []time.Duration{0, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour}
	clock := func() time.Time { return at }
	if past == nil { // only the first round has been
		waits = waits[:1]
	} else {
		at = at.Add(-11*24*time.Hour - time.Hour)
		defer past(clock)()
	}
	o.Now = clock
	gate, err := New(o)
	if err != nil {
		return err
	}
	var rows []Row
	results := map[string][]string{}
	for i, c := range companies() {
		if slices.ContainsFunc(c.results, func(r string) bool { return r != recoup.VerdictPass && !known(gate.Gate(), r) }) {
			continue
		}
		rows = append(rows, Row{Line: i + 1, Intake: recoup.Intake{CompanyName: c.name, Domain: c.domain}})
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
func verifyRound(ctx context.Context, gate *Service, round int, results map[string][]string) error {
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
