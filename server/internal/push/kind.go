package push

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/notify"
)

// Kind is a kind of work that receivers are sent. It needs no node, so that a configuration
// can be checked without one; its [Source] comes with the options of a pusher.
type Kind struct {
	Name     string
	Noun     string         // what is sent, such as "the verifications of companies"
	Fields   []notify.Field // beside those that every receiver has
	Outcomes []string       // of results; those that every delivery can have come on top
}

// Source supplies the deliveries of a receiver.
type Source interface {
	// Claim leases what there is, for that many seconds.
	Claim(ctx context.Context, limit, lease int) ([]Delivery, error)
}

// OpenSource makes the source of a receiver. What it claims is leased to the worker; values are
// those of the receiver's fields.
type OpenSource func(worker string, values map[string]string) Source

// Delivery is one piece of work on its way to a receiver.
type Delivery interface {
	// Key is the same whenever the same attempt is delivered.
	Key() string

	// Message is what is sent, which is written as JSON.
	Message() any

	// Until is when its lease ends.
	Until() time.Time

	// Record records the result in an answer and returns the outcome. An error of
	// [Unusable] is the receiver's: its answer is no result.
	Record(ctx context.Context, a *Answer) (outcome string, err error)

	// GiveBack ends the lease and changes nothing else.
	GiveBack(ctx context.Context) error

	// Aside reports whether it would be claimed again before all others. Then it is
	// given back at that time and not before, and others are delivered before it.
	Aside() (until time.Time, yes bool)
}

// Answer is what a receiver has answered to a delivery.
type Answer struct {
	Status int
	Body   []byte
}

// Names returns the names of kinds.
func Names(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].Name
	}
	return names
}

// find returns the kind of a name.
func find(kinds []Kind, name string) (k Kind, known bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return k, false
	}
	return kinds[i], true
}

// Same reports whether an id that an answer may leave out is the one it is about.
func Same[ID comparable](said, is ID) bool { return said == *new(ID) || said == is }

// Other is what is wrong with an answer about something else.
func Other() error {
	return fault.New(fault.CodeValidationError, "it is about something else than what was delivered.")
}
