package benchcli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/load"
)

// resultFormat is the version of the JSON of a result.
const resultFormat = 1

// result is what a run came to.
type result struct {
	Format      int          `json:"format"`
	Run         recoup.ID    `json:"run"`
	Tag         string       `json:"tag"`
	Server      string       `json:"server"`
	Version     string       `json:"server_version,omitempty"`
	StartedAt   time.Time    `json:"started_at"`
	Settings    settings     `json:"settings"`
	Interrupted bool         `json:"interrupted"`
	Prepared    int          `json:"prepared"` // errors that were reported beforehand, for claims to find
	Load        load.Figures `json:"load"`
	Foreign     recoup.ID    `json:"foreign,omitzero"` // an error of others that a claim leased
	Cleanup     *cleanup     `json:"cleanup,omitempty"`
}

// settings are how a run was asked for.
type settings struct {
	Table      string  `json:"table,omitempty"`
	Rate       int     `json:"rate"`
	Seconds    float64 `json:"seconds"`
	Mix        string  `json:"mix"`
	Clients    int     `json:"clients"`
	Batch      int     `json:"batch"`
	Seed       uint64  `json:"seed"`
	RetryAfter bool    `json:"retry_after"`
}

// The cells of the tables: numbers, so that they are aligned, that write themselves.
type (
	latency int64 // in microseconds
	tenths  int64
)

func (l latency) String() string { return short(time.Duration(l) * time.Microsecond) }

// short writes a duration in three digits.
func short(d time.Duration) string {
	value, unit := float64(d)/float64(time.Millisecond), "ms"
	if value >= 999.5 {
		value, unit = value/1000, "s"
	}
	switch {
	case value < 9.995:
		return fmt.Sprintf("%.2f%s", value, unit)
	case value < 99.95:
		return fmt.Sprintf("%.1f%s", value, unit)
	}
	return fmt.Sprintf("%.0f%s", value, unit)
}

func (t tenths) String() string { return fmt.Sprintf("%d.%d", t/10, t%10) }

func micros(m load.Milliseconds) latency { return latency(m.Duration().Microseconds()) }

// table is what was measured of each operation, and of all.
func table(s command.Streams, f *load.Figures) *command.Table {
	columns := []command.Column{
		{Name: "OPERATION"}, {Name: "COUNT"}, {Name: "RATE", Drop: 2}, {Name: "FAILED"}, {Name: "429"},
		{Name: "P50"}, {Name: "P90", Drop: 1}, {Name: "P99"}, {Name: "P99.9"}, {Name: "MAX"},
	}
	limited := f.All.Limited > 0
	if !limited {
		columns = slices.Delete(columns, 4, 5)
	}
	t := command.NewTable(s, columns...)
	for _, k := range append(slices.Clone(f.Kinds), f.All) {
		cells := []any{k.Kind, k.Sent, tenths(k.Rate*10 + 0.5), k.Failed}
		if limited {
			cells = append(cells, k.Limited)
		}
		l := k.Latency
		t.Add(append(cells, micros(l.P50), micros(l.P90), micros(l.P99), micros(l.P999), micros(l.Max))...)
	}
	return t
}

// say prints the result for people.
func (r *result) say(s *command.Session) {
	p := command.Page{Width: s.Width}
	fmt.Fprintln(&p, r.title())
	fmt.Fprintln(&p)
	p.WriteString(table(s.Streams, &r.Load).String())
	fmt.Fprintln(&p)
	for _, note := range r.notes() {
		p.Wrap("", "", note)
	}
	fmt.Fprint(s.Out, p.String())
}

// title is what was done, in a line.
func (r *result) title() string {
	o := &r.Settings
	return fmt.Sprintf("%s, %d/s for %s, %s, seed %d", command.Printable(r.Server), o.Rate, time.Duration(o.Seconds*float64(time.Second)), command.Count(o.Clients, "client"), o.Seed)
}

// notes are what the table does not say, and what makes its figures doubtful.
func (r *result) notes() (list []string) {
	note := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	f := &r.Load
	note("Latencies count from when an operation was due. Counted from when it was sent: p50 %s, p99 %s, max %s.",
		micros(f.All.Service.P50), micros(f.All.Service.P99), micros(f.All.Service.Max))
	for _, k := range f.Kinds {
		for _, code := range slices.Sorted(maps.Keys(k.Errors)) {
			note("%s: %d failed with %s: %s", k.Kind, k.Errors[code], code, command.Printable(k.Reasons[code]))
		}
	}
	if f.All.Limited > 0 {
		note("429: the server limited the rate %s; %s dropped, without a latency.", times(f.All.Limited), were(f.All.Dropped))
	}
	if f.Queue.Waited*100 >= int64(f.Planned) && f.Queue.Waited > 0 {
		note("%d of %d operations found all clients busy and waited for one, up to %s, which is part of their latency: the server is slower than the rate, --clients is too low, or this machine is too busy.",
			f.Queue.Waited, f.Planned, micros(f.Queue.Max))
	}
	for _, k := range f.Kinds {
		if k.Skipped > 0 {
			note("%s: %d had nothing to send, because %s.", k.Kind, k.Skipped, skipped[k.Kind])
		}
	}
	if f.Unsent > 0 {
		note("RATE MISSED: %d of %d operations were never sent, because no client was free in time. Latencies leave them out: the true ones are longer.", f.Unsent, f.Planned)
	}
	if f.Late() {
		note("GENERATOR LATE: one operation in a hundred began %s or more after its time although a client was free. This machine is too busy; latencies include that.", micros(f.Lag.P99))
	}
	if f.Saturated() {
		note("GENERATOR BUSY: the benchmark itself used %.0f%% of the CPU that it may use. It may be what limits the rate, and not the server; latencies include that.", f.Busy*100)
	}
	if r.Interrupted {
		note("Interrupted after %s: these are the figures so far.", time.Duration(f.Elapsed*float64(time.Second)).Round(100*time.Millisecond))
	}
	return list
}

// skipped is why an operation had nothing to send.
var skipped = map[string]string{
	opAck:   "no claim waited for its results",
	opClaim: "claims ended with an error of others",
}

func were(n int) string {
	if n == 1 {
		return "1 operation was"
	}
	return fmt.Sprintf("%d operations were", n)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
