package store

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Bid is a node's wish to lead, or to go on leading.
type Bid struct {
	Name   string // what is led
	Node   string
	Now    time.Time     // zero: as the store's clock says, once it holds the leadership's row
	Tenure time.Duration // how long the term lasts, unless it is renewed
}

// Term is a time of leadership. Its number goes up with every change of leader,
// so that what a leader writes who slept can be refused.
type Term struct {
	Name   string
	Number int64
	Holder string // empty: nobody, the last one has resigned
	Until  time.Time
}

// Terms describes the rows of leaderships.
var Terms = sqldb.Table[Term]{Name: "recoup.leader", Columns: []sqldb.Column[Term]{
	sqldb.Text("name", func(t *Term) *string { return &t.Name }).Key(),
	sqldb.Big("number", func(t *Term) *int64 { return &t.Number }),
	sqldb.Text("holder", func(t *Term) *string { return &t.Holder }),
	sqldb.Time("ends_at", func(t *Term) *time.Time { return &t.Until }),
}}

// Bid decides what becomes of a bid when this is the last term, or the zero term
// if there was none. A term that is over is not renewed, even by its holder:
// somebody else may have led in between. One that would last for longer than two
// such bids was begun by a wrong clock, and counts as over.
func (t Term) Bid(b Bid) (next Term, held bool) {
	until := kept(b.Now.Add(b.Tenure))
	switch expired := t.Holder == "" || !b.Now.Before(t.Until) || t.Until.After(until.Add(b.Tenure)); {
	case expired:
		return Term{b.Name, t.Number + 1, b.Node, until}, true
	case t.Holder == b.Node:
		t.Until = until
		return t, true
	}
	return t, false
}

// Job is how a scheduled job of the leader went the last time. It is kept
// as its leader says; a new leader reads it first and goes on from there.
type Job struct {
	Name       string        `json:"name"`
	StartedAt  time.Time     `json:"started_at,omitzero"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
	Rows       int64         `json:"rows"` // moved in all its runs
	Lag        time.Duration `json:"lag"`
	Cursor     string        `json:"cursor,omitempty"`
	Error      string        `json:"error,omitempty"`
	Runs       int64         `json:"runs"`
	Failures   int64         `json:"failures"`
}

// Jobs describes the rows of jobs, but for the term of who wrote one.
var Jobs = sqldb.Table[Job]{Name: "recoup.job", Columns: []sqldb.Column[Job]{
	sqldb.Text("name", func(j *Job) *string { return &j.Name }).Key(),
	sqldb.Time("started_at", func(j *Job) *time.Time { return &j.StartedAt }),
	sqldb.Time("finished_at", func(j *Job) *time.Time { return &j.FinishedAt }),
	sqldb.Big("row_count", func(j *Job) *int64 { return &j.Rows }),
	sqldb.Micros("lag_us", func(j *Job) *time.Duration { return &j.Lag }),
	sqldb.Text("cursor", func(j *Job) *string { return &j.Cursor }),
	sqldb.Text("error", func(j *Job) *string { return &j.Error }),
	sqldb.Big("runs", func(j *Job) *int64 { return &j.Runs }),
	sqldb.Big("failures", func(j *Job) *int64 { return &j.Failures }),
}}
