package wire

import (
	"github.com/recoup-dev/recoup"
)

// The events of a stream.
const (
	StreamHello   = "hello"   // it has begun: Version and Counts
	StreamCounts  = "counts"  // Counts have changed; these are all of them
	StreamChanged = "changed" // something has happened to the errors in Changed, or to the Objects
	StreamLost    = "lost"    // more has changed than is listed: read again what you show
	StreamEnd     = "end"     // the server ends the stream: Reason
)

// StreamEvent is what a stream says.
type StreamEvent struct {
	Event   string              `json:"event" enum:"hello,counts,changed,lost,end" doc:"what it tells"`
	Version string              `json:"version,omitempty" doc:"of the server, at the beginning"`
	Counts  []recoup.StateCount `json:"counts,omitempty" doc:"how many errors each table has in each state, as far as the key may see them"`
	Changed []Changed           `json:"changed,omitempty" doc:"errors that something has happened to"`
	Objects []ChangedObject     `json:"objects,omitempty" doc:"dead letters, groups of them, replays, operations, alerts and silences that something has happened to"`
	Reason  string              `json:"reason,omitempty" doc:"why it ends, or what is lost"`
}

// ChangedObject is a dead letter, a group of them, a replay, an operation, an alert or a
// silence that something has happened to.
type ChangedObject struct {
	Kind recoup.IDKind `json:"kind" enum:"dead-letters,dead-letter-groups,replays,operations,alerts,silences" doc:"what it is"`
	ID   recoup.ID     `json:"id" doc:"which; of a dead letter, the id of its error"`
}

// Changed is an error that something has happened to, and what became of it.
type Changed struct {
	ErrorID recoup.ID    `json:"error_id" doc:"the error"`
	Table   string       `json:"table" doc:"its table"`
	State   recoup.State `json:"state" doc:"its state then"`
}
