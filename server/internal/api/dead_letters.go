package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// letterRoutes are about work that failed for good, the way it takes back, and the
// queue. Keys for some hubs have part in what is of the pipelines of these.
func letterRoutes() []*httpapi.Route {
	list := []*httpapi.Route{
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letters", "Record work that failed for good", (*API).recordLetter), (*API).checkLetter).Status(http.StatusCreated).MaxBody(letterBody).Require("work_id", "pipeline").Roles(httpapi.RoleIngest, httpapi.RoleWorker, httpapi.RoleOperator).Repeat(httpapi.RepeatKeyed),
		httpapi.Op(get, "/v1/dead-letters", "List dead letters, newest first", (*API).listLetters).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(get, "/v1/dead-letters/{id}", "Show a dead letter: its rounds, notes and replays", (*API).showLetter).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letters/{id}/triage", "Triage: record the root cause (step 1 of 5)", (*API).triageLetter), (*API).checkTriage).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatKeyed),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letters/{id}/remediate", "Remediate: record what was done about it, as its cause demands (step 2 of 5)", (*API).remediateLetter), (*API).checkRemediation).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatKeyed),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letters/{id}/validate", "Validate: record that a replay does no harm (step 3 of 5)", (*API).validateLetter), (*API).checkValidation).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatKeyed),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letters/{id}/replay", "Replay: send a dead letter back to work, at the stage that failed (step 4 of 5)", (*API).replayLetter), (*API).checkSingleReplay).Status(http.StatusCreated).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatNotIdempotent),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letters/{id}/verify", "Verify: record whether the result has arrived, and close (step 5 of 5)", (*API).verifyLetter), (*API).checkVerification).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatKeyed),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letters/{id}/payload", "Read the payload of a dead letter; audited", (*API).readPayload), neededReason(func(in *payloadIn) string { return in.Body.Reason })).AdminsOnly().Load(httpapi.LoadPriority).Repeat(httpapi.RepeatNotIdempotent),

		httpapi.Op(get, "/v1/dead-letter-groups", "List groups of dead letters, the last seen first", (*API).listGroups).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(get, "/v1/dead-letter-groups/{id}", "Show a group: its trend and its notes", (*API).showGroup).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letter-groups/{id}/note", "Set the owner and the note of a group", (*API).noteGroup), (*API).checkGroupNote).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatNotIdempotent),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letter-groups/{id}/triage", "Triage all open dead letters of a group", (*API).triageGroup), (*API).checkGroupTriage).MaxBody(letterBody).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Long().Repeat(httpapi.RepeatNotIdempotent),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letter-groups/{id}/remediate", "Remediate all open dead letters of a group", (*API).remediateGroup), (*API).checkGroupRemediation).MaxBody(letterBody).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Long().Repeat(httpapi.RepeatNotIdempotent),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letter-groups/{id}/validate", "Validate all open dead letters of a group", (*API).validateGroup), (*API).checkGroupValidation).MaxBody(letterBody).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Long().Repeat(httpapi.RepeatNotIdempotent),
		httpapi.WithCheck(httpapi.Op(post, "/v1/dead-letter-groups/{id}/verify", "Verify all replayed dead letters of a group", (*API).verifyGroup), (*API).checkGroupVerification).MaxBody(letterBody).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Long().Repeat(httpapi.RepeatNotIdempotent),
	}
	for _, rt := range list {
		rt.Tag("dead letters")
	}
	return slices.Concat(list, replayRoutes(), queueRoutes())
}

// letterBody is room for a payload in base64 and a stack.
const letterBody = 1 << 20

// letterReceipts returns the receipts of acts on dead letters; nil: the request has no key.
func letterReceipts(c *httpapi.Call) (deadletter.Receipts, error) {
	if first, err := c.Receipt(0); first == nil || err != nil {
		return nil, err
	}
	return func(i int) *store.StagedReceipt {
		r, _ := c.Receipt(i) // the header was read before
		return &store.StagedReceipt{Scope: r.Scope, Key: r.Key, Hash: r.Hash, ExpiresAt: r.ExpiresAt}
	}, nil
}

// letterReceipt is that of the i-th item.
func letterReceipt(c *httpapi.Call, i int) (*store.StagedReceipt, error) {
	receipts, err := letterReceipts(c)
	if receipts == nil || err != nil {
		return nil, err
	}
	return receipts(i), nil
}

// letterAnswer is the answer to an act on one dead letter.
func letterAnswer(done deadletter.Done, err error) (recoup.DeadLetter, error) {
	return done.DeadLetter(), err
}

type recordLetterIn struct{ Body recoup.StageFailure }

func (a *API) recordLetter(c *httpapi.Call, in *recordLetterIn) (recoup.DeadLetter, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return recoup.DeadLetter{}, err
	}
	done, err := a.Letters.Record(c.Context(), c.Caller, []recoup.StageFailure{in.Body}, receipts)
	if err != nil {
		return recoup.DeadLetter{}, err
	}
	return letterAnswer(done[0], done[0].Err)
}

func (a *API) checkLetter(c *httpapi.Call, in *recordLetterIn) error {
	if err := a.Letters.CheckFailure(in.Body); err != nil {
		return err
	}
	return checkLane(c, in.Body.Pipeline, in.Body.Stage)
}

type lettersIn struct {
	recoup.DeadLetterFilter
	httpapi.Page
}

func (a *API) listLetters(c *httpapi.Call, in *lettersIn) (recoup.DeadLetterPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return recoup.DeadLetterPage{}, err
	}
	letters, cursor, err := a.Letters.Letters(c.Context(), c.Caller, in.DeadLetterFilter, at)
	return recoup.DeadLetterPage{DeadLetters: httpapi.Listed(letters), Next: httpapi.NextCursor(cursor)}, err
}

func (a *API) showLetter(c *httpapi.Call, in *httpapi.IDParam) (recoup.DeadLetterDetails, error) {
	d, err := a.Letters.Letter(c.Context(), c.Caller, in.ID)
	d.Rounds, d.Notes, d.Replays = httpapi.Listed(d.Rounds), httpapi.Listed(d.Notes), httpapi.Listed(d.Replays)
	return d, err
}

type (
	triageIn struct {
		httpapi.IDParam
		Body recoup.Triage
	}
	remediateIn struct {
		httpapi.IDParam
		Body recoup.Remediation
	}
	validateIn struct {
		httpapi.IDParam
		Body recoup.Validation
	}
	verifyIn struct {
		httpapi.IDParam
		Body recoup.Verification
	}
)

func (a *API) triageLetter(c *httpapi.Call, in *triageIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Triage(in.Body))
}

func (a *API) remediateLetter(c *httpapi.Call, in *remediateIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Remediation(in.Body))
}

func (a *API) validateLetter(c *httpapi.Call, in *validateIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Validation(in.Body))
}

func (a *API) verifyLetter(c *httpapi.Call, in *verifyIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Verification(in.Body))
}

func (a *API) takeLetter(c *httpapi.Call, id recoup.ID, action deadletter.Action) (recoup.DeadLetter, error) {
	receipt, err := letterReceipt(c, 0)
	if err != nil {
		return recoup.DeadLetter{}, err
	}
	return letterAnswer(a.Letters.Take(c.Context(), c.Caller, id, action, receipt))
}

type payloadIn struct {
	httpapi.IDParam
	Body recoup.DeadLetterPayloadRequest
}

func (a *API) readPayload(c *httpapi.Call, in *payloadIn) (recoup.DeadLetterPayload, error) {
	plain, err := a.Letters.Payload(c.Context(), c.Caller, in.ID, in.Body.Reason)
	return recoup.DeadLetterPayload{Payload: plain}, err
}

// inReplay adds to a refused archive which replay is in the way.
func (a *API) inReplay(c *httpapi.Call, id recoup.ID, err error) error {
	var refusal *lifecycle.Refusal
	if !errors.As(err, &refusal) || refusal.Input != lifecycle.Archiving {
		return err
	}
	replay, unread := a.Letters.ReplayOf(c.Context(), id)
	if unread != nil || replay.IsZero() {
		return err
	}
	return fault.From(httpapi.AsFault(err)).With("reason", "REPLAYING").With("replay_id", replay.String())
}
