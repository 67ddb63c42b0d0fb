package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// letterRoutes are about work that failed for good, the way it takes back, and the
// queue. Keys for some hubs have part in what is of the pipelines of these.
func letterRoutes() []*route {
	list := []*route{
		checked(operation(post, "/v1/dead-letters", "Record work that failed for good", (*API).recordLetter), (*API).checkLetter).answers(http.StatusCreated).takesUpTo(letterBody).demands("work_id", "pipeline").by(Ingest, Worker, Operator).repeats(keyed),
		operation(get, "/v1/dead-letters", "List dead letters, newest first", (*API).listLetters).by(readers()...).under(priority),
		operation(get, "/v1/dead-letters/{id}", "Show a dead letter: its rounds, notes and replays", (*API).showLetter).by(readers()...).under(priority),
		checked(operation(post, "/v1/dead-letters/{id}/triage", "Triage: record the root cause (step 1 of 5)", (*API).triageLetter), (*API).checkTriage).by(Operator).under(priority).repeats(keyed),
		checked(operation(post, "/v1/dead-letters/{id}/remediate", "Remediate: record what was done about it, as its cause demands (step 2 of 5)", (*API).remediateLetter), (*API).checkRemediation).by(Operator).under(priority).repeats(keyed),
		checked(operation(post, "/v1/dead-letters/{id}/validate", "Validate: record that a replay does no harm (step 3 of 5)", (*API).validateLetter), (*API).checkValidation).by(Operator).under(priority).repeats(keyed),
		checked(operation(post, "/v1/dead-letters/{id}/replay", "Replay: send a dead letter back to work, at the stage that failed (step 4 of 5)", (*API).replayLetter), (*API).checkSingleReplay).answers(http.StatusCreated).by(Operator).under(priority).repeats(notIdempotent),
		checked(operation(post, "/v1/dead-letters/{id}/verify", "Verify: record whether the result has arrived, and close (step 5 of 5)", (*API).verifyLetter), (*API).checkVerification).by(Operator).under(priority).repeats(keyed),
		checked(operation(post, "/v1/dead-letters/{id}/payload", "Read the payload of a dead letter; audited", (*API).readPayload), neededReason(func(in *payloadIn) string { return in.Body.Reason })).forAdmins().under(priority).repeats(notIdempotent),

		operation(get, "/v1/dead-letter-groups", "List groups of dead letters, the last seen first", (*API).listGroups).by(readers()...).under(priority),
		operation(get, "/v1/dead-letter-groups/{id}", "Show a group: its trend and its notes", (*API).showGroup).by(readers()...).under(priority),
		checked(operation(post, "/v1/dead-letter-groups/{id}/note", "Set the owner and the note of a group", (*API).noteGroup), (*API).checkGroupNote).by(Operator).under(priority).repeats(notIdempotent),
		checked(operation(post, "/v1/dead-letter-groups/{id}/triage", "Triage all open dead letters of a group", (*API).triageGroup), (*API).checkGroupTriage).takesUpTo(letterBody).by(Operator).under(priority).takesLong().repeats(notIdempotent),
		checked(operation(post, "/v1/dead-letter-groups/{id}/remediate", "Remediate all open dead letters of a group", (*API).remediateGroup), (*API).checkGroupRemediation).takesUpTo(letterBody).by(Operator).under(priority).takesLong().repeats(notIdempotent),
		checked(operation(post, "/v1/dead-letter-groups/{id}/validate", "Validate all open dead letters of a group", (*API).validateGroup), (*API).checkGroupValidation).takesUpTo(letterBody).by(Operator).under(priority).takesLong().repeats(notIdempotent),
		checked(operation(post, "/v1/dead-letter-groups/{id}/verify", "Verify all replayed dead letters of a group", (*API).verifyGroup), (*API).checkGroupVerification).takesUpTo(letterBody).by(Operator).under(priority).takesLong().repeats(notIdempotent),
	}
	for _, rt := range list {
		rt.tagged("dead letters")
	}
	return slices.Concat(list, replayRoutes(), queueRoutes())
}

// letterBody is room for a payload in base64 and a stack.
const letterBody = 1 << 20

// letterReceipts is [call.receipt] of acts on dead letters; nil: the request has no key.
func letterReceipts(c *call) (deadletter.Receipts, error) {
	if first, err := c.receipt(0); first == nil || err != nil {
		return nil, err
	}
	return func(i int) *store.StagedReceipt {
		r, _ := c.receipt(i) // the header was read before
		return &store.StagedReceipt{Scope: r.Scope, Key: r.Key, Hash: r.Hash, ExpiresAt: r.ExpiresAt}
	}, nil
}

// letterReceipt is that of the i-th item.
func letterReceipt(c *call, i int) (*store.StagedReceipt, error) {
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

func (a *API) recordLetter(c *call, in *recordLetterIn) (recoup.DeadLetter, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return recoup.DeadLetter{}, err
	}
	done, err := a.Letters.Record(c.Context(), c.caller, []recoup.StageFailure{in.Body}, receipts)
	if err != nil {
		return recoup.DeadLetter{}, err
	}
	return letterAnswer(done[0], done[0].Err)
}

func (a *API) checkLetter(c *call, in *recordLetterIn) error {
	if err := a.Letters.CheckFailure(in.Body); err != nil {
		return err
	}
	return checkLane(c, in.Body.Pipeline, in.Body.Stage)
}

type lettersIn struct {
	recoup.DeadLetterFilter
	page
}

func (a *API) listLetters(c *call, in *lettersIn) (client.DeadLetterPage, error) {
	at, err := in.read()
	if err != nil {
		return client.DeadLetterPage{}, err
	}
	letters, cursor, err := a.Letters.Letters(c.Context(), c.caller, in.DeadLetterFilter, at)
	return client.DeadLetterPage{DeadLetters: listed(letters), Next: next(cursor)}, err
}

func (a *API) showLetter(c *call, in *idIn) (recoup.DeadLetterDetails, error) {
	d, err := a.Letters.Letter(c.Context(), c.caller, in.ID)
	d.Rounds, d.Notes, d.Replays = listed(d.Rounds), listed(d.Notes), listed(d.Replays)
	return d, err
}

type (
	triageIn struct {
		idIn
		Body recoup.Triage
	}
	remediateIn struct {
		idIn
		Body recoup.Remediation
	}
	validateIn struct {
		idIn
		Body recoup.Validation
	}
	verifyIn struct {
		idIn
		Body recoup.Verification
	}
)

func (a *API) triageLetter(c *call, in *triageIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Triage(in.Body))
}

func (a *API) remediateLetter(c *call, in *remediateIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Remediation(in.Body))
}

func (a *API) validateLetter(c *call, in *validateIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Validation(in.Body))
}

func (a *API) verifyLetter(c *call, in *verifyIn) (recoup.DeadLetter, error) {
	return a.takeLetter(c, in.ID, deadletter.Verification(in.Body))
}

func (a *API) takeLetter(c *call, id recoup.ID, action deadletter.Action) (recoup.DeadLetter, error) {
	receipt, err := letterReceipt(c, 0)
	if err != nil {
		return recoup.DeadLetter{}, err
	}
	return letterAnswer(a.Letters.Take(c.Context(), c.caller, id, action, receipt))
}

type payloadIn struct {
	idIn
	Body client.PayloadLook
}

func (a *API) readPayload(c *call, in *payloadIn) (client.Payload, error) {
	plain, err := a.Letters.Payload(c.Context(), c.caller, in.ID, in.Body.Reason)
	return client.Payload{Payload: plain}, err
}

// inReplay adds to a refused archive which replay is in the way.
func (a *API) inReplay(c *call, id recoup.ID, err error) error {
	var refusal *lifecycle.Refusal
	if !errors.As(err, &refusal) || refusal.Input != lifecycle.Archiving {
		return err
	}
	replay, unread := a.Letters.ReplayOf(c.Context(), id)
	if unread != nil || replay.IsZero() {
		return err
	}
	return fault.From(failure(err)).With("reason", "REPLAYING").With("replay_id", replay.String())
}
