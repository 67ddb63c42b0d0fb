package api

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"reflect"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/recovery"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// gateZeroRoutes are about company candidates and the recovery of those that
// failed. Gate Zero stands before all hubs, so a key for some of them is not for
// it. The kill switch has the address that spec 004, 5 gives it.
func gateZeroRoutes() []*route {
	const killSwitch = "/cl/gate-zero/kill-switch"
	list := []*route{
		operation(get, "/v1/gate-zero/status", "Count batches, intakes and recoveries, by reason", (*API).gateZeroStatus).by(readers()...).under(priority),
		operation(get, "/v1/gate-zero/batches", "List batches with their counts, newest first", (*API).listBatches).by(readers()...).under(priority),
		checked(operation(post, "/v1/gate-zero/batches", "Create a batch", (*API).createBatch), (*API).checkBatch).by(Ingest, Operator),
		operation(get, "/v1/gate-zero/batches/{batch_id}", "Show a batch and what was done to it", (*API).showBatch).by(readers()...).under(priority),
		checked(operation(post, "/v1/gate-zero/batches/{batch_id}/complete", "Complete a batch: its recovery window begins", (*API).completeBatch), checkCompletion).by(Ingest, Operator).mayBeEmpty(),

		operation(get, "/v1/gate-zero/intakes", "List intakes, newest first", (*API).listIntakes).by(readers()...).under(priority),
		checked(operation(post, "/v1/gate-zero/intakes", "Take in a candidate", (*API).createIntake), (*API).checkIntake).answers(http.StatusCreated).by(Ingest, Operator),
		importIntakes().by(Ingest, Operator),
		operation(get, "/v1/gate-zero/intakes/{id}", "Show an intake, from its first result to its end", (*API).showIntake).by(readers()...).under(priority),

		operation(get, "/v1/gate-zero/recoveries", "List recoveries that are eligible, or that are exhausted", (*API).listRecoveries).by(readers()...).under(priority),
		operation(get, "/v1/gate-zero/recoveries/{id}", "Show a recovery", (*API).showRecovery).by(readers()...).under(priority),
		checked(operation(post, "/v1/gate-zero/claim", "Claim verifications: eligible retries, then new intakes", (*API).claimGateZero), (*API).checkGateClaim).by(Worker).repeats(notIdempotent),
		checked(operation(post, "/v1/gate-zero/results", "Submit results of verifications in bulk; items succeed or fail independently", (*API).gateZeroResults), (*API).checkGateResults).takesUpTo(batchBody).by(Worker),

		operation(get, killSwitch, "Show the kill switch of a batch", (*API).showKillSwitch).by(readers()...).under(priority),
		checked(operation(post, killSwitch, "Kill a batch: stop it at once, and take back what was claimed", (*API).kill), checkKill).by(Operator).under(priority).mayBeEmpty(),
		checked(operation(del, killSwitch, "Release a batch: let it go on", (*API).release), checkKill).by(Operator).under(priority).mayBeEmpty(),
	}
	for _, r := range list {
		r.tagged("Gate Zero").forAllHubs()
	}
	return list
}

type batchIn struct {
	BatchID string `path:"batch_id" doc:"the batch's name"`
}

type newBatchIn struct{ Body client.NewIntakeBatch }

func (a *API) createBatch(c *call, in *newBatchIn) (recoup.IntakeBatch, error) {
	made, err := a.GateZero.CreateBatch(c.r.Context(), in.Body.ID)
	return a.batchOf(recoup.IntakeBatch{Batch: made}), err
}

func (a *API) showBatch(c *call, in *batchIn) (client.BatchStory, error) {
	found, err := a.GateZero.Batch(c.r.Context(), in.BatchID)
	if err != nil {
		return client.BatchStory{}, err
	}
	rows, err := a.GateZero.BatchTimeline(c.r.Context(), in.BatchID, sqldb.MaxPage)
	return client.BatchStory{Batch: a.batchOf(found), Timeline: withInconclusive(rows)}, err
}

type completeIn struct {
	batchIn
	Body client.BatchAct
}

func (a *API) completeBatch(c *call, in *completeIn) (recoup.IntakeBatch, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return recoup.IntakeBatch{}, err
	}
	done, err := a.GateZero.Complete(c.r.Context(), in.BatchID, c.act(in.Body.Reason))
	return a.batchOf(recoup.IntakeBatch{Batch: done}), err
}

type killSwitchIn struct {
	BatchID string `query:"batch_id" required:"true" maxLength:"200" doc:"the batch's name"`
}

type killIn struct {
	killSwitchIn
	Body client.BatchAct
}

func (a *API) showKillSwitch(c *call, in *killSwitchIn) (client.KillSwitch, error) {
	found, err := a.GateZero.Batch(c.r.Context(), in.BatchID)
	return switchOf(found.Batch), err
}

func checkCompletion(_ *API, _ *call, in *completeIn) error {
	return check.Reason(in.Body.Reason)
}

func checkKill(_ *API, _ *call, in *killIn) error { return check.Reason(in.Body.Reason) }

func (a *API) kill(c *call, in *killIn) (client.KillSwitch, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return client.KillSwitch{}, err
	}
	b, err := a.GateZero.Kill(c.r.Context(), in.BatchID, c.act(in.Body.Reason))
	return switchOf(b), err
}

func (a *API) release(c *call, in *killIn) (client.KillSwitch, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return client.KillSwitch{}, err
	}
	b, err := a.GateZero.Release(c.r.Context(), in.BatchID, c.act(in.Body.Reason))
	return switchOf(b), err
}

func switchOf(b recoup.Batch) client.KillSwitch {
	return client.KillSwitch{BatchID: b.ID, Killed: b.Stopped(), KilledAt: b.KilledAt, KilledBy: b.KilledBy, Reason: b.KillReason}
}

func (a *API) listBatches(c *call, in *page) (client.IntakeBatchPage, error) {
	after, err := batchCursor(in.Cursor)
	if err != nil {
		return client.IntakeBatchPage{}, err
	}
	found, cursor, err := a.GateZero.Batches(c.r.Context(), after, cmp.Or(in.Limit, 100))
	return client.IntakeBatchPage{Batches: each(found, a.batchOf), Next: nextBatch(cursor)}, err
}

// batchCursor reads the cursor of a list of batches: a time and a name.
func batchCursor(s string) (store.BatchCursor, error) {
	if s == "" {
		return store.BatchCursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < 9 {
		return store.BatchCursor{}, badCursor()
	}
	c := store.BatchCursor{At: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), ID: string(b[8:])}
	if !plausible(c.At) || check.Identifier("cursor", c.ID) != nil {
		return store.BatchCursor{}, badCursor()
	}
	return c, nil
}

func nextBatch(c store.BatchCursor) string {
	if c.IsZero() {
		return ""
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(c.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, c.ID...))
}

// batchOf is a batch as it is shown: with what follows from its times and the policy.
func (a *API) batchOf(b recoup.IntakeBatch) recoup.IntakeBatch {
	b.WindowDays, b.Killed = int(a.GateZero.Gate().RecoveryWindow/(24*time.Hour)), b.Stopped()
	return b
}

func (a *API) gateZeroStatus(c *call, _ *struct{}) (recoup.GateZeroStatus, error) {
	status, err := a.GateZero.GateFigures(c.r.Context())
	status.Recoveries = listed(status.Recoveries)
	for i := range status.Recoveries {
		status.Recoveries[i].Inconclusive = recovery.Inconclusive(status.Recoveries[i].Reason)
	}
	return status, err
}

type recoveriesIn struct {
	client.RecoveryFilter
	page
}

func (a *API) listRecoveries(c *call, in *recoveriesIn) (client.RecoveryPage, error) {
	at, err := in.read()
	if err != nil {
		return client.RecoveryPage{}, err
	}
	list := func() ([]store.Case, sqldb.Cursor, error) {
		return a.GateZero.Eligible(c.r.Context(), in.BatchID, c.now, at)
	}
	if in.List == client.Exhausted {
		list = func() ([]store.Case, sqldb.Cursor, error) { return a.GateZero.Exhausted(c.r.Context(), in.BatchID, at) }
	}
	cases, cursor, err := list()
	return client.RecoveryPage{
		Recoveries: each(cases, func(x store.Case) recoup.Recovery { return *recoveryOf(x, c.now) }), Next: next(cursor),
	}, err
}

func (a *API) showRecovery(c *call, in *idIn) (recoup.Recovery, error) {
	found, err := a.GateZero.Recovery(c.r.Context(), in.ID)
	if err != nil {
		return recoup.Recovery{}, err
	}
	return *recoveryOf(found, c.now), nil
}

// recoveryOf is the recovery of a case as it is shown, or nil if there is none.
func recoveryOf(x store.Case, now time.Time) *recoup.Recovery {
	if x.Recovery.ID.IsZero() {
		return nil
	}
	r := x.Public(now)
	r.Inconclusive = recovery.Inconclusive(r.FailureReason)
	return &r
}

type gateClaimIn struct{ Body recoup.GateZeroClaim }

func (a *API) claimGateZero(c *call, in *gateClaimIn) (client.GateZeroClaimed, error) {
	cases, err := a.GateZero.Claim(c.r.Context(), in.Body)
	return client.GateZeroClaimed{Work: each(cases, func(x store.Case) recoup.GateZeroWork { return x.Work() })}, err
}

type gateResultsIn struct{ Body client.GateZeroResults }

// gateResultRules are the rules of one result among many.
var gateResultRules = rulesOf(reflect.TypeFor[recoup.GateZeroResult]())

func (a *API) gateZeroResults(c *call, in *gateResultsIn) (client.GateZeroRecordedBatch, error) {
	items, err := answerItems(a, c, len(in.Body.Results), func(i int) (recoup.GateZeroResult, error) {
		r := &in.Body.Results[i]
		return c.verified(*r), checkItemRules(gateResultRules, r, func(r *recoup.GateZeroResult) error { return a.checkGateResult(c, r) })
	}, a.GateZero.Record, func(_ int, o *store.CaseOutcome) (*client.GateZeroRecorded, error) {
		return &client.GateZeroRecorded{Intake: o.Case.Intake, Recovery: recoveryOf(o.Case, c.now), NewIntakeID: o.Effects.Reentry.ID}, o.Err
	})
	return client.GateZeroRecordedBatch{Items: items}, err
}
