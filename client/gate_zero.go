package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/query"
)

const (
	gateZero   = "/v1/gate-zero"
	killSwitch = "/cl/gate-zero/kill-switch"
)

// GateZeroService takes candidates in, and verifies them: c.GateZero.
type GateZeroService struct{ c *Client }

// IntakeLines are lines of a file of candidates.
type IntakeLines struct {
	Media     string // text/csv, with the header before the lines, or application/x-ndjson
	FirstLine int    // line of the file at which they begin, behind its header; 0: they are the file
	Data      []byte
}

// CreateIntake adds one candidate, to a batch that exists or to none. With an id of
// its own it may be sent again.
func (s GateZeroService) CreateIntake(ctx context.Context, batch string, in recoup.NewIntake, options ...CallOption) (recoup.IntakeCreated, error) {
	safety := NotIdempotent
	if !in.ID.IsZero() {
		safety = Idempotent
	}
	r := Request{Method: http.MethodPost, Path: gateZero + "/intakes", Query: query.Values{}.Text("batch_id", batch).URL(), Body: in, Safety: safety}
	return call[recoup.IntakeCreated](ctx, s.c, r, options)
}

// ImportIntakes adds many candidates, at most 10000, to a batch that exists or to
// none. It may be sent again: those that are there already are recognised.
// Refused ones are named by their place, from 1; the others are added.
func (s GateZeroService) ImportIntakes(ctx context.Context, batch string, list []recoup.NewIntake, options ...CallOption) (recoup.IntakesImported, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i := range list {
		if err := encoder.Encode(&list[i]); err != nil {
			return recoup.IntakesImported{}, fault.Wrap(err, fault.CodeSchemaInvalid, "The request cannot be written as JSON.")
		}
	}
	return s.ImportFile(ctx, batch, IntakeLines{Media: "application/x-ndjson", Data: lines.Bytes()}, options...)
}

// ImportFile adds candidates as a file has them, which the server parses: at
// most 10000 rows and 16 MiB of a file at once. It may be sent again, and refused
// rows are named by their lines.
func (s GateZeroService) ImportFile(ctx context.Context, batch string, lines IntakeLines, options ...CallOption) (recoup.IntakesImported, error) {
	r := Request{
		Method: http.MethodPost, Path: gateZero + "/intakes/import",
		Query:  query.Values{}.Text("batch_id", batch).Number("first_line", lines.FirstLine).URL(),
		Body:   RawBody{Media: lines.Media, Data: lines.Data},
		Safety: Idempotent,
	}
	return call[recoup.IntakesImported](ctx, s.c, r, options)
}

// Intakes lists intakes, newest first.
func (s GateZeroService) Intakes(ctx context.Context, f recoup.IntakeFilter, p Page, options ...CallOption) (recoup.IntakePage, error) {
	q := query.Values{}.Text("batch_id", f.BatchID).Text("status", string(f.Status))
	return get[recoup.IntakePage](ctx, s.c, gateZero+"/intakes", pageQuery(p, q), options)
}

// Intake returns an intake with all that happened to it.
func (s GateZeroService) Intake(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.IntakeStory, error) {
	return get[recoup.IntakeStory](ctx, s.c, gateZero+"/intakes/"+id.String(), nil, options)
}

// CreateBatch makes a batch, or returns the one of that id as it is.
func (s GateZeroService) CreateBatch(ctx context.Context, id string, options ...CallOption) (recoup.IntakeBatchSummary, error) {
	return call[recoup.IntakeBatchSummary](ctx, s.c, Request{Method: http.MethodPost, Path: gateZero + "/batches", Body: recoup.NewIntakeBatch{ID: id}, Safety: Idempotent}, options)
}

// CompleteBatch marks the import of a batch as complete: its recovery window
// begins. Calling it again changes nothing.
func (s GateZeroService) CompleteBatch(ctx context.Context, id string, act recoup.IntakeBatchAct, options ...CallOption) (recoup.IntakeBatchSummary, error) {
	path := gateZero + "/batches/" + url.PathEscape(id) + "/complete"
	return call[recoup.IntakeBatchSummary](ctx, s.c, Request{Method: http.MethodPost, Path: path, Body: act, Safety: Idempotent}, options)
}

// Batches lists batches with their counts, newest first.
func (s GateZeroService) Batches(ctx context.Context, p Page, options ...CallOption) (recoup.IntakeBatchPage, error) {
	return get[recoup.IntakeBatchPage](ctx, s.c, gateZero+"/batches", pageQuery(p, query.Values{}), options)
}

// Batch returns a batch with its counts, and what was done to it as a whole.
func (s GateZeroService) Batch(ctx context.Context, id string, options ...CallOption) (recoup.IntakeBatchStory, error) {
	return get[recoup.IntakeBatchStory](ctx, s.c, gateZero+"/batches/"+url.PathEscape(id), nil, options)
}

// KillSwitch returns the state of a batch's kill switch.
func (s GateZeroService) KillSwitch(ctx context.Context, batch string, options ...CallOption) (recoup.KillSwitch, error) {
	return get[recoup.KillSwitch](ctx, s.c, killSwitch, query.Values{}.Text("batch_id", batch).URL(), options)
}

// Kill stops a batch at once: nothing in it can be claimed, and leases are revoked
// without using an attempt.
func (s GateZeroService) Kill(ctx context.Context, batch string, act recoup.IntakeBatchAct, options ...CallOption) (recoup.KillSwitch, error) {
	r := Request{Method: http.MethodPost, Path: killSwitch, Query: query.Values{}.Text("batch_id", batch).URL(), Body: act, Safety: Idempotent}
	return call[recoup.KillSwitch](ctx, s.c, r, options)
}

// Release turns the kill switch of a batch off.
func (s GateZeroService) Release(ctx context.Context, batch string, act recoup.IntakeBatchAct, options ...CallOption) (recoup.KillSwitch, error) {
	r := Request{Method: http.MethodDelete, Path: killSwitch, Query: query.Values{}.Text("batch_id", batch).URL(), Body: act}
	return call[recoup.KillSwitch](ctx, s.c, r, options)
}

// Recoveries lists recoveries that are eligible, or those that are exhausted.
func (s GateZeroService) Recoveries(ctx context.Context, f recoup.RecoveryFilter, p Page, options ...CallOption) (recoup.RecoveryPage, error) {
	q := query.Values{}.Text("list", f.List).Text("batch_id", f.BatchID)
	return get[recoup.RecoveryPage](ctx, s.c, gateZero+"/recoveries", pageQuery(p, q), options)
}

// AllRecoveries walks a list of recoveries page by page. It ends with the first
// failure.
func (s GateZeroService) AllRecoveries(ctx context.Context, f recoup.RecoveryFilter) iter.Seq2[recoup.Recovery, error] {
	return Walk(ctx, func(ctx context.Context, p Page) ([]recoup.Recovery, string, error) {
		page, err := s.Recoveries(ctx, f, p)
		return page.Recoveries, page.Next, err
	})
}

// Recovery returns one recovery.
func (s GateZeroService) Recovery(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Recovery, error) {
	return get[recoup.Recovery](ctx, s.c, gateZero+"/recoveries/"+id.String(), nil, options)
}

// Status returns the totals of Gate Zero.
func (s GateZeroService) Status(ctx context.Context, options ...CallOption) (recoup.GateZeroStatus, error) {
	return get[recoup.GateZeroStatus](ctx, s.c, gateZero+"/status", nil, options)
}

// Claim leases verifications. It may return none. If its answer is lost, what
// it leased can be claimed again when the leases expire.
func (s GateZeroService) Claim(ctx context.Context, claim recoup.GateZeroClaim, options ...CallOption) ([]recoup.GateZeroWork, error) {
	r := Request{Method: http.MethodPost, Path: gateZero + "/claim", Body: claim, Safety: Idempotent}
	answer, err := call[recoup.GateZeroClaimed](ctx, s.c, r, options)
	return answer.Work, err
}

// Results submits the results of verifications, at most 1000. Each succeeds or
// fails on its own; answers are in the order of the results. See [Item.Get]. A result
// that is sent again changes nothing, and is refused with what was recorded.
func (s GateZeroService) Results(ctx context.Context, results []recoup.GateZeroResult, options ...CallOption) ([]Item[recoup.GateZeroRecorded], error) {
	r := Request{Method: http.MethodPost, Path: gateZero + "/results", Body: recoup.GateZeroResults{Results: results}, Safety: Idempotent}
	answer, err := call[recoup.GateZeroRecordedBatch](ctx, s.c, r, options)
	if err != nil {
		return nil, err
	}
	return itemsOf(answer.Items, len(results))
}
