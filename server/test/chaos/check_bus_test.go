package chaos

import "slices"

// plantedOnBus are bugs that events which travel by a bus could have.
var plantedOnBus = []bug{
	{"a batch that the bus acknowledged never arrives", "acknowledged", func(r *record) {
		drop(&r.final.Events, func(e *EventRow) bool { return e.ID == id(41) })
	}},
	{"a batch that was delivered twice is written twice", "once", func(r *record) {
		r.final.Events = append(r.final.Events, *of(r.final.Events, func(e *EventRow) bool { return e.ID == id(41) }))
	}},
	{"a batch is acknowledged before it is written", "sequence", func(r *record) {
		r.final.Ranges = slices.Clone(r.final.Ranges[:2])
		r.final.Ranges[0].First = 7
	}},
	{"the first batch is lost", "sequence", func(r *record) { r.final.Ranges[1].First = 2 }},
	{"the last batch is lost", "sequence", func(r *record) { r.final.Bus.Last = 10 }},
	{"the stream has lost its end, and counts from there again", "sequence", func(r *record) { r.final.Bus.Last = 8 }},
	{"the stream was lost, and made anew", "sequence", func(r *record) { r.final.Ranges[2].Stream = "older" }},
	{"a batch that is fit is given up", "quarantine", func(r *record) { r.final.Bus.Quarantined = 1 }},
	{"a batch is left on the stream", "at rest", func(r *record) { r.final.Bus.Waiting = 1 }},
}
