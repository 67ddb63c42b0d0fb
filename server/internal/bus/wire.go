package bus

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// Bus is how the bus does that carries events to the ledger, as one node sees it.
type Bus struct {
	Enabled bool   `json:"enabled" doc:"whether this node has a bus (--bus)"`
	Up      bool   `json:"up" doc:"whether it takes events; if not, they go to the database directly"`
	Cause   string `json:"cause,omitempty" doc:"why it is not up, or what it refuses although it is"`
	Server  string `json:"server,omitempty" doc:"the version of the server that the node is connected to"`

	Stream      BusStream `json:"stream,omitzero" doc:"the events on their way"`
	Quarantined int64     `json:"quarantined" doc:"batches that could not be written and wait for an operator"`
	Gaps        []BusGap  `json:"gaps" doc:"sequences that nobody has written, while later ones are"`
	Node        BusNode   `json:"node" doc:"what this node has done since it started"`
}

// BusStream is the stream of events.
type BusStream struct {
	Replicas  int        `json:"replicas" doc:"how many copies there are"`
	Leader    string     `json:"leader,omitempty" doc:"the server that leads the stream"`
	Followers []BusPeer  `json:"followers,omitempty" doc:"the servers that follow it"`
	Waiting   int64      `json:"waiting" doc:"batches that are not written yet"`
	InFlight  int64      `json:"in_flight" doc:"of those, the ones that nodes are writing"`
	Bytes     int64      `json:"bytes" doc:"what they take"`
	MaxBytes  int64      `json:"max_bytes" doc:"the limit; from there on events are refused"`
	First     int64      `json:"first" doc:"the sequence of the oldest batch"`
	Last      int64      `json:"last" doc:"the sequence of the newest batch ever"`
	Oldest    *time.Time `json:"oldest,omitempty" doc:"when the oldest batch was published"`
}

// BusPeer is a server that follows the stream.
type BusPeer struct {
	Name    string `json:"name" doc:"of the server"`
	Current bool   `json:"current" doc:"whether it has everything"`
	Offline bool   `json:"offline" doc:"whether it cannot be reached"`
	Lag     int64  `json:"lag" doc:"how many operations it is behind"`
}

// BusNode is what a node has done with its bus.
type BusNode struct {
	Published   int64 `json:"published" doc:"events that it brought to the bus"`
	Direct      int64 `json:"direct" doc:"events that it wrote to the database because the bus was away"`
	Written     int64 `json:"written" doc:"events from the bus that it wrote"`
	Duplicates  int64 `json:"duplicates" doc:"events from the bus that were written before"`
	Quarantined int64 `json:"quarantined" doc:"batches that it gave up"`
	Failures    int64 `json:"failures" doc:"tries to write that failed and were repeated"`
}

// BusGap is sequences of a stream that were never written, while later ones were.
type BusGap struct {
	Stream string    `json:"stream" doc:"its name and when it was made"`
	First  int64     `json:"first" doc:"the first sequence that is missing"`
	Last   int64     `json:"last" doc:"the last one"`
	Since  time.Time `json:"since" doc:"when a later one was first written"`
}

// QuarantinedBatch is a batch that could not be written.
type QuarantinedBatch struct {
	Number   int64     `json:"number" doc:"by which it is retried or dropped"`
	BatchID  recoup.ID `json:"batch_id,omitzero" doc:"its id, if it can be read"`
	Stream   string    `json:"stream" doc:"where it came from"`
	Sequence int64     `json:"sequence" doc:"its place there"`
	Events   int       `json:"events" doc:"how many it has, if it can be read"`
	Bytes    int       `json:"bytes" doc:"its size"`
	Readable bool      `json:"readable" doc:"whether it can be retried"`
	Reason   string    `json:"reason" doc:"why it could not be written"`
	At       time.Time `json:"at" doc:"when it was given up"`
}

// QuarantinePage is a page of batches in quarantine, by number.
type QuarantinePage struct {
	Batches []QuarantinedBatch `json:"batches" doc:"this page of the list"`
	Next    string             `json:"next,omitempty" doc:"after, for the next page; none: this is the last"`
}

// QuarantineAct says which batches in quarantine are retried or dropped, and why.
type QuarantineAct struct {
	Numbers []int  `json:"numbers" minItems:"1" maxItems:"100" doc:"of the batches"`
	Reason  string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// QuarantineDone is the batches that were retried or dropped. Others are not in quarantine.
type QuarantineDone struct {
	Batches []QuarantinedBatch `json:"batches" doc:"what was in quarantine, and is no more"`
}
