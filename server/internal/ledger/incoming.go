package ledger

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Incoming is an event as a client sent it, before anything is known of it. It can
// be decoded from JSON.
type Incoming struct {
	recoup.Event

	// IDText is the event's id as it was written, because only the text distinguishes a
	// ULID, which carries a time, from a random UUID. It wins over Event.ID.
	IDText string `json:"event_id"`

	// Sender fills in what the event leaves out; nil: nothing.
	Sender *Sender `json:"-"`
}

// Sender is what is known of whoever sent an event: by its key, by the headers of
// its request, by the request itself.
type Sender struct {
	Service string
	Region  string
	Trace   recoup.ID // of the request: the correlation of events that have none

	// What a sender may not speak for is refused, or of a provider left out; nil:
	// it may for all.
	OwnsService  func(service string) bool
	OwnsProvider func(provider string) bool
}

// Governed is what became of a batch.
type Governed struct {
	Events  []store.Event // what may be stored, in the order of the batch
	IDs     []recoup.ID   // by index in the batch: the id, also a made one; zero if refused
	Refused []Refusal     // by index, ascending
}

// Refusal says which event of a batch was refused and what is wrong with it. It
// does not repeat what the event said.
type Refusal struct {
	Index int
	Err   *fault.Error
}
