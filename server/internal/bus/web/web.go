// Package web serves the bus over HTTP: the routes of its state and its quarantine, with their
// documentation, and its panel in the console.
package web

import (
	"cmp"
	_ "embed"
	"net/http"
	"strconv"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// How the audit names what people do to batches in quarantine.
const (
	actRetry = "bus.retry"
	actDrop  = "bus.drop"
)

// answers are example answers, by the name of the route.
//
//go:embed answers.json
var answers []byte

// Routes are those of the bus. Their service is a [bus.Service].
func Routes() httpapi.Set {
	return httpapi.Set{Routes: httpapi.Documented(routes(), docs()), Answers: answers, After: "GET /v1/doctor"}
}

func routes() []*httpapi.Route {
	list := []*httpapi.Route{
		httpapi.Op(http.MethodGet, "/v1/bus", "Show how the bus does that carries events to the ledger", show).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority),
		httpapi.Op(http.MethodGet, "/v1/bus/quarantine", "List batches of events that could not be written", listQuarantine).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs(),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/bus/quarantine/retry", "Write batches in quarantine to the ledger", retry), checkAct(false)).Roles(httpapi.RoleOperator).AllHubs(),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/bus/quarantine/drop", "Delete batches in quarantine, and their events", drop), checkAct(true)).AdminsOnly().AllHubs(),
	}
	for _, r := range list {
		r.Tag("operations")
	}
	return list
}

func docs() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"GET /v1/bus":            {About: "How the bus does that carries events to the ledger (`recoup serve --bus`): whether it takes events, what waits on it and since when, its replicas, what is in quarantine, and sequences that were never written while later ones were. Without a bus, `enabled` is false."},
		"GET /v1/bus/quarantine": {About: "Batches of events that failed five times to be written, or that cannot be read, by number. Nothing is done to them until somebody retries or drops them.", Params: map[string]string{"limit": "20"}, Fails: []recoup.Code{fault.CodeTemporaryUnavailable}},
		"POST /v1/bus/quarantine/retry": {
			About: "Writes the events of batches to the ledger, once what they failed on is mended, and takes them out of quarantine. Events that the ledger has are not counted again. Numbers that are not in quarantine are left alone, and the answer lists what was written.",
			Body:  `{"numbers": [1], "reason": "the code is registered now"}`, Fails: []recoup.Code{fault.CodeConflict, fault.CodeTemporaryUnavailable},
		},
		"POST /v1/bus/quarantine/drop": {
			About: "Deletes batches for good. Their events are counted among what was left out of the ledger, under `quarantine`. The answer lists what was deleted.",
			Body:  `{"numbers": [1], "reason": "damaged on the disk of the bus"}`, Fails: []recoup.Code{fault.CodeTemporaryUnavailable},
		},
	}
}

func show(s *bus.Service, c *httpapi.Call, _ *struct{}) (bus.Bus, error) {
	return s.Status(c.Context())
}

// maxQuarantined is how many batches a page has.
const maxQuarantined = 100

type quarantineIn struct {
	Limit int `query:"limit" minimum:"1" maximum:"100" doc:"batches of a page; default 100"`
	After int `query:"after" minimum:"0" doc:"the number of the last batch of the page before: its next"`
}

func listQuarantine(s *bus.Service, c *httpapi.Call, in *quarantineIn) (bus.QuarantinePage, error) {
	limit := cmp.Or(in.Limit, maxQuarantined)
	list, err := s.Quarantined(c.Context(), int64(in.After), limit)
	out := bus.QuarantinePage{Batches: list}
	if err == nil && len(list) == limit {
		out.Next = strconv.FormatInt(list[len(list)-1].Number, 10)
	}
	return out, err
}

type quarantinedIn struct {
	Body bus.QuarantineAct
}

// checkAct checks the reason, which dropping must have.
func checkAct(needed bool) func(*bus.Service, *httpapi.Call, *quarantinedIn) error {
	return func(_ *bus.Service, _ *httpapi.Call, in *quarantinedIn) error {
		if needed {
			if err := deadletter.CheckReason(in.Body.Reason); err != nil {
				return err
			}
		}
		return check.Reason(in.Body.Reason)
	}
}

func retry(s *bus.Service, c *httpapi.Call, in *quarantinedIn) (bus.QuarantineDone, error) {
	return each(s, in, func(number int64) (bus.QuarantinedBatch, error) {
		return s.Retry(c.Context(), number, note(s, c, actRetry, in.Body.Reason))
	})
}

func drop(s *bus.Service, c *httpapi.Call, in *quarantinedIn) (bus.QuarantineDone, error) {
	return each(s, in, func(number int64) (bus.QuarantinedBatch, error) {
		return s.Drop(c.Context(), number, note(s, c, actDrop, in.Body.Reason))
	})
}

// each acts on batches until one fails. Batches that are not in quarantine
// are skipped: another request was faster, or there is no bus.
func each(s *bus.Service, in *quarantinedIn, act func(number int64) (bus.QuarantinedBatch, error)) (bus.QuarantineDone, error) {
	out := bus.QuarantineDone{Batches: []bus.QuarantinedBatch{}}
	if !s.Enabled() {
		return out, nil
	}
	for _, number := range in.Body.Numbers {
		done, err := act(int64(number))
		if fault.Classify(err).Code == fault.CodeNotFound {
			continue
		}
		if err != nil {
			return out, err
		}
		out.Batches = append(out.Batches, done)
	}
	return out, nil
}

// note writes an act on a batch to the audit.
func note(s *bus.Service, c *httpapi.Call, act, reason string) func(bus.QuarantinedBatch) error {
	return func(q bus.QuarantinedBatch) error {
		return s.Audit.AppendAudit(c.Context(), c.Act(reason).On(act, strconv.FormatInt(q.Number, 10),
			map[string]any{"batch_id": q.BatchID.String(), "sequence": q.Sequence, "events": q.Events, "failed_with": q.Reason}))
	}
}
