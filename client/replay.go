package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// Preview says which dead letters a replay would include, and why others are left
// out. Send its Token with the replay.
func (s ReplayService) Preview(ctx context.Context, selection recoup.ReplaySelection, options ...CallOption) (recoup.ReplayPreview, error) {
	return call[recoup.ReplayPreview](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/replays/preview", Body: selection, Safety: Idempotent}, options)
}

// Start sends dead letters back to work, at a rate and in a ramp: named ones, or those
// that a preview has shown, by its Token. Its members are fixed by the time it runs.
func (s ReplayService) Start(ctx context.Context, r recoup.NewReplay, options ...CallOption) (recoup.Replay, error) {
	return call[recoup.Replay](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/replays", Body: r, Safety: NotIdempotent}, options)
}

// List lists replays, in one state or in all, newest first.
func (s ReplayService) List(ctx context.Context, state string, p Page, options ...CallOption) (recoup.ReplayPage, error) {
	return get[recoup.ReplayPage](ctx, s.c, "/v1/replays", pageQuery(p, query.Values{}.Text("state", state)), options)
}

// Get returns a replay, how far it has come, and its notes.
func (s ReplayService) Get(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.ReplayDetails, error) {
	return get[recoup.ReplayDetails](ctx, s.c, "/v1/replays/"+id.String(), nil, options)
}

// Items lists the members of a replay, in one state or in all, from a
// position on.
func (s ReplayService) Items(ctx context.Context, id recoup.ID, state string, from, limit int, options ...CallOption) (recoup.ReplayItems, error) {
	q := query.Values{}.Text("state", state).Number("limit", limit)
	if from > 0 {
		q = q.Text("from", strconv.Itoa(from))
	}
	return get[recoup.ReplayItems](ctx, s.c, "/v1/replays/"+id.String()+"/items", q.URL(), options)
}

// Pause stops a replay from releasing more; what workers have claimed goes on.
func (s ReplayService) Pause(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Replay, error) {
	return s.act(ctx, id, "pause", reason, options)
}

// Resume resumes a paused replay: where it stood, or, if it has stopped itself,
// with the ramp from the beginning.
func (s ReplayService) Resume(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Replay, error) {
	return s.act(ctx, id, "resume", reason, options)
}

// Cancel ends a replay. Members that no worker has claimed are as they were
// before it.
func (s ReplayService) Cancel(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Replay, error) {
	return s.act(ctx, id, "cancel", reason, options)
}

func (s ReplayService) act(ctx context.Context, id recoup.ID, verb, reason string, options []CallOption) (recoup.Replay, error) {
	return call[recoup.Replay](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/replays/" + id.String() + "/" + verb, Body: recoup.ReplayAct{Reason: reason}, Safety: Idempotent}, options)
}
