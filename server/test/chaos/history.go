// Package chaos proves from what clients saw and from what a database holds in the
// end that nothing went wrong while nodes, databases and networks were taken away.
//
// Clients write down every call ([History]); a seeded [Plan] says which faults
// happen meanwhile; after that everything is healed, comes to rest and is read in
// full ([Final]). [Check] is a pure function of the two: each [Violation] that it
// finds names what it is about, and [Excerpt] prints all that is known of that.
package chaos

import (
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
)

// Outcome is what a client knows of its call.
type Outcome string

// The outcomes. A call that got no answer, or that of a server in trouble, may have
// been carried out.
const (
	OK      Outcome = "ok"
	Refused Outcome = "refused"
	Unknown Outcome = "unknown"
)

// Kind is what was asked for. Those of acts on errors are the inputs of their
// history.
type Kind string

// The kinds of calls.
const (
	Report     Kind = "report"
	Event      Kind = "event"
	Claim      Kind = "claim" // one operation for each error that was leased
	Succeed    Kind = "succeed"
	Fail       Kind = "fail"
	Extend     Kind = "extend"
	Park       Kind = "park"
	Unpark     Kind = "unpark"
	Resolve    Kind = "resolve"
	Gate       Kind = "gate"
	Promote    Kind = "promote"
	Submit     Kind = "submit"
	ClaimWork  Kind = "claim work" // one operation for each piece of work
	FinishWork Kind = "finish work"
	FailWork   Kind = "fail work"
	Triage     Kind = "triage"
	Remediate  Kind = "remediate"
	Validate   Kind = "validate"
	Replay     Kind = "replay"
	Verify     Kind = "verify"
)

// Operation is one attempt of a call. Key names what was asked for: attempts that
// repeat it have the same, and the database shows it wherever it was carried out: as
// the id of an event or of work, as the correlation of a report, as the phase of a
// promotion, as the reason of an act.
type Operation struct {
	N       int64     `json:"n"`
	Client  string    `json:"client"`
	Node    int       `json:"node"`
	Kind    Kind      `json:"kind"`
	Key     string    `json:"key"`
	Entity  string    `json:"entity,omitempty"`
	ID      recoup.ID `json:"id,omitzero"`    // of the error, the event, the work or the promotion
	Token   recoup.ID `json:"token,omitzero"` // of the lease
	Seq     int64     `json:"seq,omitempty"`  // of a promotion
	Begin   time.Time `json:"begin"`
	End     time.Time `json:"end"`
	Outcome Outcome   `json:"outcome"`
	Code    string    `json:"code,omitempty"` // of what was not done

	// Of a lease, by the clock of whoever gave it.
	LeasedAt  time.Time `json:"leased_at,omitzero"`
	LeaseEnds time.Time `json:"lease_ends,omitzero"`
}

// History is what clients have seen, in the order in which calls ended. It is safe
// for concurrent use.
type History struct {
	mu   sync.Mutex
	list []Operation
	out  *json.Encoder
}

// NewHistory keeps what is recorded, and writes it to out as NDJSON if there is one.
func NewHistory(out io.Writer) *History {
	h := &History{}
	if out != nil {
		h.out = json.NewEncoder(out)
	}
	return h
}

// Record appends operations and numbers them. A history that cannot be written is
// still checked.
func (h *History) Record(list ...Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range list {
		op.N = int64(len(h.list)) + 1
		h.list = append(h.list, op)
		if h.out != nil {
			_ = h.out.Encode(op)
		}
	}
}

// Operations returns what was recorded so far.
func (h *History) Operations() []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

// ReadHistory reads what Record has written.
func ReadHistory(in io.Reader) (list []Operation, err error) {
	for decoder := json.NewDecoder(in); decoder.More(); {
		var op Operation
		if err := decoder.Decode(&op); err != nil {
			return nil, err
		}
		list = append(list, op)
	}
	return list, nil
}
