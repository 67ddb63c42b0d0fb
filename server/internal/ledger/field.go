package ledger

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/redact"
)

const (
	// maxName is the most bytes of a service, an endpoint, a region, an external
	// service.
	maxName = 200

	// ahead is how far the clocks of clients may be ahead of ours.
	ahead = 24 * time.Hour

	leastStatus, mostStatus = 100, 599
)

// identifier holds a name to what is safe to store, to show and to search for. One
// that looks like a secret is refused: redacted it would name nothing.
func (c *check) identifier(field, s string) {
	switch {
	case s == "" || c.clean[s]:
	default:
		bad := c.secrets.CheckIdentifier(s, maxName)
		switch {
		case bad == nil:
			c.clean[s] = true
		case bad.Constraint == redact.NoSecret:
			c.refuse(DropSecret, field, bad.Constraint, field+" "+bad.Message)
		default:
			c.refuse(DropText, field, bad.Constraint, field+" "+bad.Message)
		}
	}
}

// id reads the event's id, or makes one. Made ids are of the present whatever the
// event's time: a source that had once seen tomorrow would stay there.
func (c *check) id() {
	c.out.ID = c.in.ID
	if text := c.in.IDText; text != "" {
		id, err := recoup.ParseID(text)
		if err != nil || id.IsZero() {
			c.refuse(DropID, "event_id", "format", "expected a UUID or a ULID, and not the nil UUID")
			return
		}
		c.out.ID = id
		_, dated := c.timeOfID()
		c.out.Timeless = !dated
	}
	if c.out.ID.IsZero() {
		c.out.ID = c.IDs.New(c.now)
	}
}

// time takes the client's time, else that of its id, so that a batch which is sent
// again has the same keys, else the present.
func (c *check) time() {
	ts := c.in.TS
	if ts.IsZero() {
		ts = c.now
		if of, ok := c.timeOfID(); ok {
			ts = of
		}
	}
	oldest := c.now.Add(-c.Retention)
	if epoch := time.Unix(0, 0); oldest.Before(epoch) {
		oldest = epoch
	}
	if ts.Before(oldest) || ts.After(c.now.Add(ahead)) {
		c.refuse(DropTime, "ts", "range", "expected a time within the retention and at most 24 hours ahead")
		return
	}
	c.out.TS = ts.UTC().Truncate(time.Microsecond)
}

// timeOfID returns the time in an id that the client gave. An id that came without
// its text is taken at its word if it says that it is a UUIDv7.
func (c *check) timeOfID() (time.Time, bool) {
	switch {
	case c.in.IDText != "":
		return recoup.TimeOf(c.in.IDText)
	case !c.in.ID.IsZero():
		return recoup.TimeOf(c.in.ID.String())
	}
	return time.Time{}, false
}

// correlation takes what ties the event to others: the client's word, else the
// trace of the request it came with, else an id that stands alone.
func (c *check) correlation() {
	c.out.CorrelationID = c.in.CorrelationID
	if c.out.CorrelationID.IsZero() && c.in.Sender != nil {
		c.out.CorrelationID = c.in.Sender.Trace
	}
	if c.out.CorrelationID.IsZero() {
		c.out.CorrelationID = c.IDs.New(c.now)
	}
}

func (c *check) status() {
	status := c.in.HTTPStatus
	if status != 0 && (status < leastStatus || status > mostStatus) {
		c.refuse(DropStatus, "http_status", "range", "expected 100 to 599, or nothing")
	}
	c.out.HTTPStatus = status
}
