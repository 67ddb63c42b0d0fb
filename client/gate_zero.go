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
)

const (
	gateZero   = "/v1/gate-zero"
	killSwitch = "/cl/gate-zero/kill-switch"
)

// CreateIntake adds one candidate, to a batch that exists or to none. With an id of
// its own it may be sent again.
func (c *Client) CreateIntake(ctx context.Context, batch string, in NewIntake, options ...CallOption) (IntakeCreated, error) {
	safety := once
	if !in.ID.IsZero() {
		safety = harmless
	}
	r := request{method: http.MethodPost, path: gateZero + "/intakes", query: query{}.text("batch_id", batch).values(), body: in, safety: safety}
	return call[IntakeCreated](ctx, c, r, options)
}

// ImportIntakes adds many candidates, at most 10000, to a batch that exists or to
// none. It may be sent again: those that are there already are recognised.
// Refused ones are named by their place, from 1; the others are added.
func (c *Client) ImportIntakes(ctx context.Context, batch string, list []NewIntake, options ...CallOption) (IntakesImported, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i := range list {
		if err := encoder.Encode(&list[i]); err != nil {
			return IntakesImported{}, fault.Wrap(err, fault.CodeSchemaInvalid, "The request cannot be written as JSON.")
		}
	}
	return c.ImportIntakeLines(ctx, batch, IntakeLines{Media: "application/x-ndjson", Data: lines.Bytes()}, options...)
}

// ImportIntakeLines adds candidates as a file has them, which the server parses: at
// most 10000 rows and 16 MiB of a file at once. It may be sent again, and refused
// rows are named by their lines.
func (c *Client) ImportIntakeLines(ctx context.Context, batch string, lines IntakeLines, options ...CallOption) (IntakesImported, error) {
	r := request{
		method: http.MethodPost, path: gateZero + "/intakes/import",
		query: query{}.text("batch_id", batch).number("first_line", lines.FirstLine).values(),
		body:  payload{media: lines.Media, data: lines.Data},
	}
	return call[IntakesImported](ctx, c, r, options)
}

// Intakes lists intakes, newest first.
func (c *Client) Intakes(ctx context.Context, f recoup.IntakeFilter, p Page, options ...CallOption) (IntakePage, error) {
	q := query{}.text("batch_id", f.BatchID).text("status", string(f.Status))
	return get[IntakePage](ctx, c, gateZero+"/intakes", p.query(q), options)
}

// IntakeStory returns an intake with all that happened to it.
func (c *Client) IntakeStory(ctx context.Context, id recoup.ID, options ...CallOption) (IntakeStory, error) {
	return get[IntakeStory](ctx, c, gateZero+"/intakes/"+id.String(), nil, options)
}

// CreateIntakeBatch makes a batch, or returns the one of that id as it is.
func (c *Client) CreateIntakeBatch(ctx context.Context, id string, options ...CallOption) (recoup.IntakeBatch, error) {
	return call[recoup.IntakeBatch](ctx, c, request{method: http.MethodPost, path: gateZero + "/batches", body: NewIntakeBatch{ID: id}}, options)
}

// CompleteIntakeBatch marks the import of a batch as complete: its recovery window
// begins. Calling it again changes nothing.
func (c *Client) CompleteIntakeBatch(ctx context.Context, id string, act BatchAct, options ...CallOption) (recoup.IntakeBatch, error) {
	path := gateZero + "/batches/" + url.PathEscape(id) + "/complete"
	return call[recoup.IntakeBatch](ctx, c, request{method: http.MethodPost, path: path, body: act}, options)
}

// IntakeBatches lists batches with their counts, newest first.
func (c *Client) IntakeBatches(ctx context.Context, p Page, options ...CallOption) (IntakeBatchPage, error) {
	return get[IntakeBatchPage](ctx, c, gateZero+"/batches", p.query(query{}), options)
}

// IntakeBatch returns a batch with its counts, and what was done to it as a whole.
func (c *Client) IntakeBatch(ctx context.Context, id string, options ...CallOption) (BatchStory, error) {
	return get[BatchStory](ctx, c, gateZero+"/batches/"+url.PathEscape(id), nil, options)
}

// KillSwitch returns the state of a batch's kill switch.
func (c *Client) KillSwitch(ctx context.Context, batch string, options ...CallOption) (KillSwitch, error) {
	return get[KillSwitch](ctx, c, killSwitch, query{}.text("batch_id", batch).values(), options)
}

// Kill stops a batch at once: nothing in it can be claimed, and leases are revoked
// without using an attempt.
func (c *Client) Kill(ctx context.Context, batch string, act BatchAct, options ...CallOption) (KillSwitch, error) {
	r := request{method: http.MethodPost, path: killSwitch, query: query{}.text("batch_id", batch).values(), body: act}
	return call[KillSwitch](ctx, c, r, options)
}

// Release turns the kill switch of a batch off.
func (c *Client) Release(ctx context.Context, batch string, act BatchAct, options ...CallOption) (KillSwitch, error) {
	r := request{method: http.MethodDelete, path: killSwitch, query: query{}.text("batch_id", batch).values(), body: act}
	return call[KillSwitch](ctx, c, r, options)
}

// Recoveries lists recoveries that are eligible, or those that are exhausted.
func (c *Client) Recoveries(ctx context.Context, f RecoveryFilter, p Page, options ...CallOption) (RecoveryPage, error) {
	q := query{}.text("list", f.List).text("batch_id", f.BatchID)
	return get[RecoveryPage](ctx, c, gateZero+"/recoveries", p.query(q), options)
}

// AllRecoveries walks a list of recoveries page by page. It ends with the first
// failure.
func (c *Client) AllRecoveries(ctx context.Context, f RecoveryFilter) iter.Seq2[recoup.Recovery, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.Recovery, string, error) {
		page, err := c.Recoveries(ctx, f, p)
		return page.Recoveries, page.Next, err
	})
}

// Recovery returns one recovery.
func (c *Client) Recovery(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Recovery, error) {
	return get[recoup.Recovery](ctx, c, gateZero+"/recoveries/"+id.String(), nil, options)
}

// GateZeroStatus returns the totals of Gate Zero.
func (c *Client) GateZeroStatus(ctx context.Context, options ...CallOption) (recoup.GateZeroStatus, error) {
	return get[recoup.GateZeroStatus](ctx, c, gateZero+"/status", nil, options)
}

// ClaimGateZero leases verifications. It may return none. If its answer is lost, what
// it leased can be claimed again when the leases expire.
func (c *Client) ClaimGateZero(ctx context.Context, claim recoup.GateZeroClaim, options ...CallOption) ([]recoup.GateZeroWork, error) {
	r := request{method: http.MethodPost, path: gateZero + "/claim", body: claim}
	answer, err := call[GateZeroClaimed](ctx, c, r, options)
	return answer.Work, err
}

// GateZeroResults submits the results of verifications, at most 1000. Each succeeds or
// fails on its own; answers are in the order of the results. See [Item.Get]. A result
// that is sent again changes nothing, and is refused with what was recorded.
func (c *Client) GateZeroResults(ctx context.Context, results []recoup.GateZeroResult, options ...CallOption) ([]Item[GateZeroRecorded], error) {
	r := request{method: http.MethodPost, path: gateZero + "/results", body: GateZeroResults{Results: results}}
	answer, err := call[GateZeroRecordedBatch](ctx, c, r, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(results))
}
