package web

import (
	"cmp"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// What the operations find wrong with their requests, without doing anything: see
// [httpapi.WithCheck].

func checkBatch(_ *gatezero.Service, _ *httpapi.Call, in *newBatchIn) error {
	return gatezero.CheckBatch(in.Body.ID)
}

func checkGateClaim(_ *gatezero.Service, _ *httpapi.Call, in *gateClaimIn) error {
	return gatezero.CheckClaim(in.Body)
}

func checkGateResults(s *gatezero.Service, c *httpapi.Call, in *gateResultsIn) error {
	return httpapi.CheckItems(c.Context(), "results", in.Body.Results, gateResultRules, func(r *recoup.GateZeroResult) error { return checkGateResult(s, c, r) })
}

func checkGateResult(s *gatezero.Service, c *httpapi.Call, r *recoup.GateZeroResult) error {
	result := verified(c, *r)
	return s.CheckResult(&result)
}

// verified is a result of a verification; its worker is the caller, unless it says
// otherwise.
func verified(c *httpapi.Call, r recoup.GateZeroResult) recoup.GateZeroResult {
	r.Worker = cmp.Or(r.Worker, c.Caller.Name)
	return r
}
