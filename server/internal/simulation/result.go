package simulation

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Result is what a simulation has counted.
type Result struct {
	PolicyVersion string    `json:"policy_version"`
	Seed          uint64    `json:"seed"`
	Start         time.Time `json:"start"`
	End           time.Time `json:"end"`
	Beyond        int       `json:"beyond"` // failures of the history that lie after the end
	Total         Tally     `json:"total"`
	Tables        []Tally   `json:"tables"` // in the order of the policy
}

// Tally is what happened to the errors of one table, or of all.
type Tally struct {
	Table    string `json:"table,omitempty"`
	Reported int    `json:"reported"`
	Orphans  int    `json:"orphans"` // of those, meant for a table that could not have them

	Attempts  int `json:"attempts"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Lost      int `json:"lost"` // attempts whose worker never answered

	Parked    map[recoup.ParkReason]int `json:"parked"`
	NotParked int                       `json:"not_parked"` // should have been, but the table has no PARK
	Unparked  int                       `json:"unparked"`
	Escalated map[int]int               `json:"escalated"` // by tier

	ResolvedByWorker int                          `json:"resolved_by_worker"`
	ResolvedByPerson int                          `json:"resolved_by_person"`
	Archived         map[recoup.ArchiveReason]int `json:"archived"`
	Open             map[recoup.State]int         `json:"open"` // when the simulation ended

	Blocked        Blocked                 `json:"blocked"`
	UnblockedByTTL int                     `json:"unblocked_by_ttl"` // spells whose last blocking error expired
	Notices        map[wire.NoticeKind]int `json:"notices"`
}

func emptyTally(table string) Tally {
	return Tally{
		Table: table, Parked: map[recoup.ParkReason]int{}, Escalated: map[int]int{},
		Archived: map[recoup.ArchiveReason]int{}, Open: map[recoup.State]int{}, Notices: map[wire.NoticeKind]int{},
	}
}

// tally is a Tally in the making.
type tally struct {
	Tally
	gate gate
}

func newTally(table string) *tally { return &tally{emptyTally(table), gate{}} }

// count books a step. kind is empty for what the clock does.
func (t *tally) count(it *item, kind lifecycle.Kind, effects *lifecycle.Effects) {
	switch kind {
	case lifecycle.Claimed:
		t.Attempts++
	case lifecycle.Succeeded:
		t.Succeeded++
		t.ResolvedByWorker++
	case lifecycle.Failed:
		t.Failed++
	case lifecycle.Unparking:
		t.Unparked++
	case lifecycle.Resolving:
		t.ResolvedByPerson++
	}
	if effects.History.Input == string(lifecycle.LeaseLapsed) {
		t.Lost++
	}
	if effects.Archive {
		t.Archived[it.ArchiveReason]++
	}
	for _, n := range effects.Notices.All() {
		t.Notices[n.Kind]++
		switch n.Kind {
		case wire.NoticeParked:
			t.Parked[it.ParkReason]++
		case wire.NoticeNotParked:
			t.NotParked++
		case wire.NoticeEscalated:
			t.Escalated[it.EscalationLevel]++
		}
	}
}

// result closes the books and checks that they balance: every error that was
// reported is archived or open, and no table has lost one to another.
func (w *world) result() (Result, error) {
	end := w.now
	if w.Length > 0 {
		end = w.Start.Add(w.Length)
	}
	for _, e := range w.queue {
		if e.version == e.item.version {
			e.item.tally.Open[e.item.State]++
		}
	}
	r := w.outcome
	r.PolicyVersion, r.Seed, r.Start, r.End = w.Policy.Version, w.Seed, w.Start, end
	r.Total = emptyTally("")
	for _, table := range w.Policy.Tables() {
		t := w.tallies[table.Name]
		t.Blocked, t.UnblockedByTTL = t.gate.sum(end)
		if ended, open := sum(t.Archived), sum(t.Open); t.Reported != ended+open {
			return Result{}, lost(t.Table, t.Reported, ended, open)
		}
		r.Total.add(&t.Tally)
		r.Tables = append(r.Tables, t.Tally)
	}
	r.Total.Blocked, r.Total.UnblockedByTTL = w.gate.sum(end)
	if r.Total.Reported != w.reported {
		return Result{}, lost("the tables", w.reported, sum(r.Total.Archived), sum(r.Total.Open))
	}
	return r, nil
}

// add sums up what can be summed; what blocks an entity overlaps between tables.
func (t *Tally) add(o *Tally) {
	t.Reported += o.Reported
	t.Orphans += o.Orphans
	t.Attempts += o.Attempts
	t.Succeeded += o.Succeeded
	t.Failed += o.Failed
	t.Lost += o.Lost
	t.NotParked += o.NotParked
	t.Unparked += o.Unparked
	t.ResolvedByWorker += o.ResolvedByWorker
	t.ResolvedByPerson += o.ResolvedByPerson
	addAll(t.Parked, o.Parked)
	addAll(t.Escalated, o.Escalated)
	addAll(t.Archived, o.Archived)
	addAll(t.Open, o.Open)
	addAll(t.Notices, o.Notices)
}

func addAll[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

func sum[K comparable](m map[K]int) int {
	total := 0
	for _, n := range m {
		total += n
	}
	return total
}
