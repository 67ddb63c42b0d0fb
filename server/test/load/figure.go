package load

import (
	"cmp"
	"maps"
	"math"
	"time"
)

// tally counts operations of a kind.
type tally struct {
	done, failed, dropped, skipped int
	limited, items                 int
	errors                         map[string]int
	reasons                        map[string]string
	latency, service               Histogram
}

func (t *tally) add(o Outcome, limited int, latency, service time.Duration) {
	t.limited += limited
	t.items += o.Items
	switch {
	case o.Skipped:
		t.skipped++
		return
	case o.Limited:
		t.dropped++ // a refusal is quick, and would make the others look so
		return
	case o.Code != "":
		t.failed++
		if t.errors == nil {
			t.errors, t.reasons = map[string]int{}, map[string]string{}
		}
		t.errors[o.Code]++
		t.reasons[o.Code] = cmp.Or(t.reasons[o.Code], o.Why)
	default:
		t.done++
	}
	t.latency.Record(latency)
	t.service.Record(service)
}

// Milliseconds is a duration as results have it.
type Milliseconds float64

func millis(d time.Duration) Milliseconds {
	return Milliseconds(d.Round(time.Microsecond).Microseconds()) / 1000
}

// Duration is the same as a duration.
func (m Milliseconds) Duration() time.Duration {
	return time.Duration(m * Milliseconds(time.Millisecond)).Round(time.Microsecond)
}

// Latency is what a histogram comes to.
type Latency struct {
	Mean Milliseconds `json:"mean_ms"`
	P50  Milliseconds `json:"p50_ms"`
	P90  Milliseconds `json:"p90_ms"`
	P99  Milliseconds `json:"p99_ms"`
	P999 Milliseconds `json:"p999_ms"`
	Max  Milliseconds `json:"max_ms"`
}

func (h *Histogram) latency() Latency {
	at := func(q float64) Milliseconds { return millis(h.Quantile(q)) }
	return Latency{Mean: millis(h.Mean()), P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: millis(h.Max())}
}

// Kind is what was measured of one kind of operation, or of all. Of those that were sent
// Done succeeded, Failed failed and Dropped ended with a 429.
type Kind struct {
	Kind    string            `json:"operation"`
	Sent    int               `json:"sent"`
	Rate    float64           `json:"per_second"`
	Done    int               `json:"done"`
	Failed  int               `json:"failed"`
	Errors  map[string]int    `json:"errors,omitempty"`  // failures by code
	Reasons map[string]string `json:"reasons,omitempty"` // of the first failure with each code
	Limited int               `json:"limited"`           // answers with 429
	Dropped int               `json:"dropped"`           // not sent again after one
	Skipped int               `json:"skipped,omitempty"` // due, but there was nothing to send
	Items   int               `json:"items"`             // what they were about, all together

	// Latency counts from when an operation was to begin, Service from when it was sent.
	// Both are of what is done or failed.
	Latency Latency `json:"latency"`
	Service Latency `json:"service"`
}

// Queue is how many operations found all clients busy, and how long they waited for one.
type Queue struct {
	Waited int64 `json:"waited"`
	Latency
}

// Figures are those of a run, so far or in all.
type Figures struct {
	Elapsed float64 `json:"elapsed_seconds"`
	Planned int     `json:"planned"` // that were due by then
	Unsent  int     `json:"unsent"`  // of these, never sent
	Kinds   []Kind  `json:"operations"`
	All     Kind    `json:"all"`
	Queue   Queue   `json:"queue"`

	// Lag is how late operations began although a client was free: the generator's own fault.
	Lag Latency `json:"generator_lag"`

	// Busy is the share of its CPUs that the generator used, from 0 to 1; 0: nobody knows.
	Busy float64 `json:"generator_cpu"`
}

// Figures are those of the run until now.
func (l *Load) Figures() Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed, busy := l.ended, l.busy
	if elapsed == 0 {
		elapsed = max(l.since(), 1)
		busy = l.share(elapsed)
	}
	due := elapsed
	switch {
	case l.stopped > 0:
		due = l.stopped // what would have come later was not wanted any more
	case l.ended > 0:
		due = l.Plan.span()
	}
	f := Figures{
		Elapsed: elapsed.Round(time.Millisecond).Seconds(), Planned: max(l.Plan.dueBy(due), l.begun),
		Lag: l.lag.latency(), Queue: Queue{l.queued.Count(), l.queued.latency()}, All: l.all.figures("all", elapsed),
		Busy: math.Round(busy*1000) / 1000,
	}
	if l.ended > 0 { // before, they are under way, or may be sent yet
		f.Unsent = f.Planned - l.begun
	}
	for _, s := range l.Plan.mix {
		if t := l.tallies[s.Kind]; t != nil {
			f.Kinds = append(f.Kinds, t.figures(s.Kind, elapsed))
		}
	}
	return f
}

func (t *tally) figures(kind string, elapsed time.Duration) Kind {
	k := Kind{
		Kind: kind, Sent: t.done + t.failed + t.dropped, Done: t.done, Failed: t.failed, Errors: maps.Clone(t.errors), Reasons: maps.Clone(t.reasons), Limited: t.limited,
		Dropped: t.dropped, Skipped: t.skipped, Items: t.items, Latency: t.latency.latency(), Service: t.service.latency(),
	}
	k.Rate = float64(int64(float64(k.Sent)/elapsed.Seconds()*10+0.5)) / 10
	return k
}

// tolerated is how late one operation in a hundred may begin before the generator itself
// is in doubt.
const tolerated = 5 * time.Millisecond

// saturated is the share of its CPUs from which on a generator may be what limits the rate.
const saturated = 0.8

// Saturated reports whether the generator had hardly any CPU left. Clients are then busy
// with themselves, so that operations wait for one as if the server were slow: lag, which
// is that of free clients, does not show it.
func (f *Figures) Saturated() bool { return f.Busy >= saturated }

// Late reports whether the generator could not keep its own schedule, so that latencies
// are partly its own.
func (f *Figures) Late() bool { return f.Lag.P99.Duration() > tolerated }
