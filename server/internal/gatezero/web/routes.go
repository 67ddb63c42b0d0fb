// Package web has the routes of Gate Zero with their documentation, and its pages of the
// console.
package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// gateZeroRoutes are about company candidates and the recovery of those that
// failed. Gate Zero stands before all hubs, so a key for some of them is not for
// it. The kill switch has the address that spec 004, 5 gives it.
func routes() []*httpapi.Route {
	const killSwitch = "/cl/gate-zero/kill-switch"
	list := []*httpapi.Route{
		httpapi.Op(http.MethodGet, "/v1/gate-zero/status", "Count batches, intakes and recoveries, by reason", gateZeroStatus).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(http.MethodGet, "/v1/gate-zero/batches", "List batches with their counts, newest first", listBatches).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/gate-zero/batches", "Create a batch", createBatch), checkBatch).Roles(httpapi.RoleIngest, httpapi.RoleOperator),
		httpapi.Op(http.MethodGet, "/v1/gate-zero/batches/{batch_id}", "Show a batch and what was done to it", showBatch).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/gate-zero/batches/{batch_id}/complete", "Complete a batch: its recovery window begins", completeBatch), checkCompletion).Roles(httpapi.RoleIngest, httpapi.RoleOperator).OptionalBody(),

		httpapi.Op(http.MethodGet, "/v1/gate-zero/intakes", "List intakes, newest first", listIntakes).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/gate-zero/intakes", "Take in a candidate", createIntake), checkIntake).Status(http.StatusCreated).Roles(httpapi.RoleIngest, httpapi.RoleOperator),
		importIntakes().Roles(httpapi.RoleIngest, httpapi.RoleOperator),
		httpapi.Op(http.MethodGet, "/v1/gate-zero/intakes/{id}", "Show an intake, from its first result to its end", showIntake).Roles(readers()...).Load(httpapi.LoadPriority),

		httpapi.Op(http.MethodGet, "/v1/gate-zero/recoveries", "List recoveries that are eligible, or that are exhausted", listRecoveries).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(http.MethodGet, "/v1/gate-zero/recoveries/{id}", "Show a recovery", showRecovery).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/gate-zero/claim", "Claim verifications: eligible retries, then new intakes", claimGateZero), checkGateClaim).Roles(httpapi.RoleWorker).Repeat(httpapi.RepeatNotIdempotent),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/gate-zero/results", "Submit results of verifications in bulk; items succeed or fail independently", gateZeroResults), checkGateResults).MaxBody(httpapi.BatchBody).Roles(httpapi.RoleWorker),

		httpapi.Op(http.MethodGet, killSwitch, "Show the kill switch of a batch", showKillSwitch).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, killSwitch, "Kill a batch: stop it at once, and take back what was claimed", kill), checkKill).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).OptionalBody(),
		httpapi.WithCheck(httpapi.Op(http.MethodDelete, killSwitch, "Release a batch: let it go on", release), checkKill).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).OptionalBody(),
	}
	for _, r := range list {
		r.Tag("Gate Zero").AllHubs()
	}
	return list
}

type batchIn struct {
	BatchID string `path:"batch_id" doc:"the batch's name"`
}

type newBatchIn struct{ Body recoup.NewIntakeBatch }

func createBatch(s *gatezero.Service, c *httpapi.Call, in *newBatchIn) (recoup.IntakeBatchSummary, error) {
	made, err := s.CreateBatch(c.Context(), in.Body.ID)
	return batchOf(s, recoup.IntakeBatchSummary{IntakeBatch: made}), err
}

func showBatch(s *gatezero.Service, c *httpapi.Call, in *batchIn) (recoup.IntakeBatchStory, error) {
	found, err := s.Batch(c.Context(), in.BatchID)
	if err != nil {
		return recoup.IntakeBatchStory{}, err
	}
	rows, err := s.BatchTimeline(c.Context(), in.BatchID, sqldb.MaxPage)
	return recoup.IntakeBatchStory{Batch: batchOf(s, found), Timeline: withInconclusive(rows)}, err
}

type completeIn struct {
	batchIn
	Body recoup.IntakeBatchAct
}

func completeBatch(s *gatezero.Service, c *httpapi.Call, in *completeIn) (recoup.IntakeBatchSummary, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return recoup.IntakeBatchSummary{}, err
	}
	done, err := s.Complete(c.Context(), in.BatchID, c.Act(in.Body.Reason))
	return batchOf(s, recoup.IntakeBatchSummary{IntakeBatch: done}), err
}

type killSwitchIn struct {
	BatchID string `query:"batch_id" required:"true" maxLength:"200" doc:"the batch's name"`
}

type killIn struct {
	killSwitchIn
	Body recoup.IntakeBatchAct
}

func showKillSwitch(s *gatezero.Service, c *httpapi.Call, in *killSwitchIn) (recoup.KillSwitch, error) {
	found, err := s.Batch(c.Context(), in.BatchID)
	return switchOf(found.IntakeBatch), err
}

func checkCompletion(_ *gatezero.Service, _ *httpapi.Call, in *completeIn) error {
	return check.Reason(in.Body.Reason)
}

func checkKill(_ *gatezero.Service, _ *httpapi.Call, in *killIn) error {
	return check.Reason(in.Body.Reason)
}

func kill(s *gatezero.Service, c *httpapi.Call, in *killIn) (recoup.KillSwitch, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return recoup.KillSwitch{}, err
	}
	b, err := s.Kill(c.Context(), in.BatchID, c.Act(in.Body.Reason))
	return switchOf(b), err
}

func release(s *gatezero.Service, c *httpapi.Call, in *killIn) (recoup.KillSwitch, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return recoup.KillSwitch{}, err
	}
	b, err := s.Release(c.Context(), in.BatchID, c.Act(in.Body.Reason))
	return switchOf(b), err
}

func switchOf(b recoup.IntakeBatch) recoup.KillSwitch {
	return recoup.KillSwitch{BatchID: b.ID, Killed: b.Stopped(), KilledAt: b.KilledAt, KilledBy: b.KilledBy, Reason: b.KillReason}
}

func listBatches(s *gatezero.Service, c *httpapi.Call, in *httpapi.Page) (recoup.IntakeBatchPage, error) {
	after, err := batchCursor(in.Cursor)
	if err != nil {
		return recoup.IntakeBatchPage{}, err
	}
	found, cursor, err := s.Batches(c.Context(), after, cmp.Or(in.Limit, 100))
	return recoup.IntakeBatchPage{Batches: httpapi.Each(found, func(b recoup.IntakeBatchSummary) recoup.IntakeBatchSummary { return batchOf(s, b) }), Next: nextBatch(cursor)}, err
}

// batchCursor reads the cursor of a list of batches: a time and a name.
func batchCursor(s string) (gatezero.BatchCursor, error) {
	if s == "" {
		return gatezero.BatchCursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < 9 {
		return gatezero.BatchCursor{}, httpapi.BadCursor()
	}
	c := gatezero.BatchCursor{At: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), ID: string(b[8:])}
	if !httpapi.PlausibleTime(c.At) || check.Identifier("cursor", c.ID) != nil {
		return gatezero.BatchCursor{}, httpapi.BadCursor()
	}
	return c, nil
}

func nextBatch(c gatezero.BatchCursor) string {
	if c.IsZero() {
		return ""
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(c.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, c.ID...))
}

// batchOf is a batch as it is shown: with what follows from its times and the policy.
func batchOf(s *gatezero.Service, b recoup.IntakeBatchSummary) recoup.IntakeBatchSummary {
	b.WindowDays, b.Killed = int(s.Gate().RecoveryWindow/(24*time.Hour)), b.Stopped()
	return b
}

func gateZeroStatus(s *gatezero.Service, c *httpapi.Call, _ *struct{}) (recoup.GateZeroStatus, error) {
	status, err := s.GateFigures(c.Context())
	status.Recoveries = httpapi.Listed(status.Recoveries)
	for i := range status.Recoveries {
		status.Recoveries[i].Inconclusive = gatezero.Inconclusive(status.Recoveries[i].Reason)
	}
	return status, err
}

type recoveriesIn struct {
	recoup.RecoveryFilter
	httpapi.Page
}

func listRecoveries(s *gatezero.Service, c *httpapi.Call, in *recoveriesIn) (recoup.RecoveryPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return recoup.RecoveryPage{}, err
	}
	list := func() ([]gatezero.Case, sqldb.Cursor, error) {
		return s.Eligible(c.Context(), in.BatchID, c.Now, at)
	}
	if in.List == recoup.ExhaustedRecoveries {
		list = func() ([]gatezero.Case, sqldb.Cursor, error) {
			return s.Exhausted(c.Context(), in.BatchID, at)
		}
	}
	cases, cursor, err := list()
	return recoup.RecoveryPage{
		Recoveries: httpapi.Each(cases, func(x gatezero.Case) recoup.Recovery { return *recoveryOf(x, c.Now) }), Next: httpapi.NextCursor(cursor),
	}, err
}

func showRecovery(s *gatezero.Service, c *httpapi.Call, in *httpapi.IDParam) (recoup.Recovery, error) {
	found, err := s.Recovery(c.Context(), in.ID)
	if err != nil {
		return recoup.Recovery{}, err
	}
	return *recoveryOf(found, c.Now), nil
}

// recoveryOf is the recovery of a case as it is shown, or nil if there is none.
func recoveryOf(x gatezero.Case, now time.Time) *recoup.Recovery {
	if x.Recovery.ID.IsZero() {
		return nil
	}
	r := x.Public(now)
	r.Inconclusive = gatezero.Inconclusive(r.FailureReason)
	return &r
}

type gateClaimIn struct{ Body recoup.GateZeroClaim }

func claimGateZero(s *gatezero.Service, c *httpapi.Call, in *gateClaimIn) (recoup.GateZeroClaimed, error) {
	cases, err := s.Claim(c.Context(), in.Body)
	return recoup.GateZeroClaimed{Work: httpapi.Each(cases, func(x gatezero.Case) recoup.GateZeroWork { return x.Work() })}, err
}

type gateResultsIn struct{ Body recoup.GateZeroResults }

// gateResultRules are the rules of one result among many.
var gateResultRules = httpapi.RulesOf[recoup.GateZeroResult]()

func gateZeroResults(s *gatezero.Service, c *httpapi.Call, in *gateResultsIn) (recoup.GateZeroRecordedBatch, error) {
	items, err := items(c, len(in.Body.Results), func(i int) (recoup.GateZeroResult, error) {
		r := &in.Body.Results[i]
		return verified(c, *r), httpapi.CheckItem(gateResultRules, r, func(r *recoup.GateZeroResult) error { return checkGateResult(s, c, r) })
	}, s.Record, func(_ int, o *gatezero.CaseOutcome) (*recoup.GateZeroRecorded, error) {
		return &recoup.GateZeroRecorded{Intake: o.Case.Intake, Recovery: recoveryOf(o.Case, c.Now), NewIntakeID: o.Effects.Reentry.ID}, o.Err
	})
	return recoup.GateZeroRecordedBatch{Items: items}, err
}

// items is [httpapi.Items] with the items that clients read.
func items[S, O, T any](c *httpapi.Call, n int, step func(i int) (S, error),
	verb func(context.Context, []S) ([]O, error), result func(i int, o *O) (*T, error),
) ([]recoup.Item[T], error) {
	return httpapi.Items(c, n, step, verb, result, func(out *T, failure json.RawMessage) recoup.Item[T] {
		return recoup.Item[T]{Result: out, Failure: failure}
	})
}

// readers are the roles that see Gate Zero.
func readers() []httpapi.Role {
	return []httpapi.Role{httpapi.RoleWorker, httpapi.RoleOperator, httpapi.RoleReader}
}
