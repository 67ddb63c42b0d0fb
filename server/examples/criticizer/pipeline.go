package main

import (
	"context"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/stage"
)

const pipelineName = "criticizer"

// world is what the pipeline calls.
type world struct{ host, model, channel *upstream }

// newWorld scripts what goes wrong: of each page, what the host, the model and the
// channel answer first. What is negative stays so until somebody repairs it.
func newWorld() *world {
	return &world{
		host: newUpstream("host", map[string][]int{
			"slow-page": {http.StatusRequestTimeout, http.StatusBadGateway},
		}),
		model: newUpstream("model", map[string][]int{
			"busy-model":   {http.StatusTooManyRequests},
			"broken-model": {-http.StatusServiceUnavailable},
			"stuck-model":  {-http.StatusServiceUnavailable},
			"rude-page":    {-http.StatusUnavailableForLegalReasons},
		}),
		channel: newUpstream("channel", map[string][]int{
			"lost-channel": {-http.StatusForbidden},
		}),
	}
}

// pages are what is to be criticised.
func pages() []string {
	return []string{"plain-page", "slow-page", "busy-model", "broken-model", "stuck-model", "rude-page", "lost-channel"}
}

// pipeline is fetch, llm and notify. Each stage has five attempts of its own, and
// hands its idempotency key on: an upstream that has seen it does nothing twice.
func (w *world) pipeline() stage.Pipeline {
	calls := func(u *upstream) stage.Func {
		return func(_ context.Context, in stage.Input) ([]byte, error) {
			item := string(in.Payload)
			if err := u.call(item, in.IdempotencyKey); err != nil {
				return nil, stage.WithContext(err, map[string]any{"upstream": u.name, "upstream_status": fault.From(err).Definition().HTTPStatus})
			}
			return []byte(u.name + " did " + item), nil
		}
	}
	quick := retry.Stage() // as in production, but for people who do not want to wait
	quick.Schedule.Base, quick.Schedule.Cap, quick.Ceiling = 5*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond
	return stage.Pipeline{Name: pipelineName, Stages: []stage.Stage{
		{Name: "fetch", Run: calls(w.host), Policy: &quick},
		{Name: "llm", Run: calls(w.model), Policy: &quick},
		{Name: "notify", Run: calls(w.channel), Policy: &quick},
	}}
}
