package chaos

import (
	"encoding/json"
	"io"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Final is everything that is there once all faults are over and nothing is due any
// more: the database in full, and what a receiver of notifications was sent.
type Final struct {
	Errors     []Error       `json:"errors"`
	History    []Transition  `json:"history"`
	Gate       []GateEntry   `json:"gate"`
	Promotions []Promotion   `json:"promotions"`
	Events     []EventRow    `json:"events"`
	Letters    []Letter      `json:"letters"`
	Notes      []Note        `json:"notes"`
	Replays    []ReplayRow   `json:"replays"`
	Works      []recoup.ID   `json:"works"` // still in the queue
	Figures    []Figure      `json:"figures"`
	Terms      []TermEntry   `json:"terms"`
	Notices    []Notice      `json:"notices"`
	Messages   []SentMessage `json:"messages"`
	Bus        *Bus          `json:"bus,omitempty"` // none: events had no bus
	Ranges     []Range       `json:"ranges,omitempty"`
}

// Bus is what is left on the bus.
type Bus struct {
	Stream      string `json:"stream"` // its name and when it was made
	Last        int64  `json:"last"`   // the newest sequence that it ever had
	Waiting     int64  `json:"waiting"`
	Quarantined int64  `json:"quarantined"`
}

// Range is sequences of a stream that were written to the ledger.
type Range struct {
	Stream string `json:"stream"`
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
}

// Error is an error, open or archived.
type Error struct {
	ID          recoup.ID    `json:"id"`
	Table       string       `json:"table"`
	Entity      string       `json:"entity,omitempty"`
	Correlation recoup.ID    `json:"correlation,omitzero"`
	State       recoup.State `json:"state"`
	Blocking    bool         `json:"blocking,omitempty"`
	Owner       string       `json:"owner,omitempty"`    // none: the system
	Deadline    bool         `json:"deadline,omitempty"` // something happens to it by itself
	Queued      bool         `json:"queued,omitempty"`   // workers can claim it, or one has it
}

// Transition is a row of the history. Seq orders those of one error.
type Transition struct {
	Seq     int64        `json:"seq"`
	ErrorID recoup.ID    `json:"error"`
	At      time.Time    `json:"at"`
	Input   string       `json:"input"`
	Actor   string       `json:"actor"`
	Reason  string       `json:"reason,omitempty"`
	From    recoup.State `json:"from,omitempty"`
	To      recoup.State `json:"to"`
	Worker  string       `json:"worker,omitempty"`
	Attempt recoup.ID    `json:"attempt,omitzero"`
}

// GateEntry says that an error began to block its entity, or ceased to.
type GateEntry struct {
	Seq     int64     `json:"seq"`
	Entity  string    `json:"entity"`
	ErrorID recoup.ID `json:"error"`
	Blocks  bool      `json:"blocks"`
}

// Promotion is a promotion that was recorded.
type Promotion struct {
	Seq    int64     `json:"seq"`
	ID     recoup.ID `json:"id"`
	Entity string    `json:"entity"`
	Phase  string    `json:"phase"`
}

// EventRow is an event of the ledger.
type EventRow struct {
	ID          recoup.ID `json:"id"`
	Correlation recoup.ID `json:"correlation"`
}

// Letter is a dead letter.
type Letter struct {
	ErrorID recoup.ID           `json:"error"`
	WorkID  recoup.ID           `json:"work"`
	Step    recoup.WorkflowStep `json:"step"`
	Round   int                 `json:"round"`
	Rounds  int                 `json:"rounds"` // that were recorded
	Closed  bool                `json:"closed,omitempty"`
}

// Note is what was done about a dead letter.
type Note struct {
	ErrorID recoup.ID           `json:"error"`
	Step    recoup.WorkflowStep `json:"step"`
	Text    string              `json:"text"`
}

// ReplayRow is a replay.
type ReplayRow struct {
	ID     recoup.ID          `json:"id"`
	Reason string             `json:"reason"`
	State  recoup.ReplayState `json:"state"`
}

// Figure is a number that is kept beside what it counts, and what counting gives.
type Figure struct {
	Name    string `json:"name"`
	Key     string `json:"key"`
	Kept    int64  `json:"kept"`
	Counted int64  `json:"counted"`
}

// TermEntry is a change of the leadership, or something that a leader wrote, in the
// order in which the database let it happen.
type TermEntry struct {
	Seq    int64  `json:"seq"`
	What   string `json:"what"` // TermBegins, TermEnds, or the job whose progress was saved
	Number int64  `json:"number"`
	Holder string `json:"holder,omitempty"` // of the term; what is written names its term alone

	At time.Time `json:"at"` // by the server's clock; nothing is judged by it
}

// What a TermEntry says of the leadership itself.
const (
	TermBegins = "begins" // or goes on
	TermEnds   = "ends"   // its holder has resigned
)

// Notice is a notification that is to be sent, or was.
type Notice struct {
	ID        recoup.ID       `json:"id"`
	Kind      wire.NoticeKind `json:"kind"`
	To        string          `json:"to"`
	ErrorID   recoup.ID       `json:"error,omitzero"`
	Delivered bool            `json:"delivered"`
	Waiting   bool            `json:"waiting,omitempty"` // to be delivered; it was made after everything had come to rest
	Attempts  int             `json:"attempts"`
}

// SentMessage is what a receiver was sent: a message of notices.
type SentMessage struct {
	ID      recoup.ID   `json:"id"`
	Notices []recoup.ID `json:"notices"`
}

// Write writes it as JSON.
func (f *Final) Write(out io.Writer) error { return json.NewEncoder(out).Encode(f) }

// ReadFinal reads what Write has written.
func ReadFinal(in io.Reader) (f *Final, err error) {
	f = &Final{}
	return f, json.NewDecoder(in).Decode(f)
}
