package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// maxItems is how many things one message lists. Errors beyond are counted and not
// looked up.
const maxItems = 100

// composer builds messages.
type composer struct {
	find   func(context.Context, recoup.ID) (recoup.Error, error)
	list   func(context.Context, store.Filter, sqldb.Page) ([]recoup.Error, sqldb.Cursor, error)
	policy *policy.Policy
	base   string // of links; empty: none
}

// body is what of a notice's body may be sent: whatever else is in there stays.
type body struct {
	alert.Body
	Job     string `json:"job"`
	Lag     int64  `json:"lag_seconds"`
	Silent  int64  `json:"silent_seconds"`
	InForce string `json:"in_force"`
	store.ReplayStop
	store.Digest
	Adopted wire.AdoptionSum `json:"adopted"`
}

// readBody reads what it can: a body that says something else says nothing.
func readBody(text recoup.JSON) body {
	var b body
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return body{}
	}
	return b
}

// compose builds the message for all notices, which are of one kind and
// to one team.
func (c *composer) compose(ctx context.Context, id recoup.ID, list []outgoing, u policy.Urgency) (*Message, error) {
	first := &list[0]
	m := &Message{ID: id, Kind: first.Kind, To: clean(first.To), Urgency: u, At: first.CreatedAt, Count: len(list)}
	things := 0
	for i := range list {
		items, more, err := c.items(ctx, &list[i], len(m.Items) < maxItems)
		if err != nil {
			return nil, err
		}
		things += len(items) + more
		m.Items = append(m.Items, items...)
	}
	m.Items = m.Items[:min(len(m.Items), maxItems)]
	m.More = things - len(m.Items)
	m.Title = title(m.Kind, things)
	return m, nil
}

// items returns what a notice is about, and how much of it the list leaves out. If
// nobody will see the list it is only counted.
func (c *composer) items(ctx context.Context, n *outgoing, shown bool) (items []Item, more int, err error) {
	switch {
	case !n.ErrorID.IsZero() && !shown:
		return nil, 1, nil
	case !n.ErrorID.IsZero():
		item, err := c.error(ctx, n)
		return []Item{item}, 0, err
	}
	b := readBody(n.body)
	if b.Count > 0 {
		return c.digest(ctx, n, &b.Digest, shown)
	}
	for _, line := range b.Alerts {
		items = append(items, c.alert(n, &line))
	}
	for _, s := range b.Switches {
		items = append(items, Item{NoticeID: n.ID, Key: "provider:" + clean(s.Group), Provider: clean(fmt.Sprintf("%s: %s → %s", s.Group, s.From, s.To))})
	}
	if items == nil {
		items = append(items, c.other(n, &b))
	}
	return items, max(b.More, 0), nil
}

// digest lists the first of many errors, and says where the others are found.
func (c *composer) digest(ctx context.Context, n *outgoing, d *store.Digest, shown bool) (items []Item, more int, err error) {
	if !shown {
		return nil, d.Count, nil
	}
	of, named := *n, map[string]bool{}
	for _, id := range d.Errors {
		of.ErrorID = id
		item, err := c.error(ctx, &of)
		if err != nil {
			return nil, 0, err
		}
		if all := d.Tables[item.Table]; all > 1 && !named[item.Table] {
			named[item.Table] = true
			item.Hint = fmt.Sprintf("%d in this table: %s", all, listing(n.Kind, item.Table))
		}
		items = append(items, item)
	}
	return items, max(d.Count-len(items), 0), nil
}

// listing is the command that lists what a digest counts.
func listing(kind wire.NoticeKind, table string) string {
	switch kind {
	case wire.NoticeUnblocked:
		return "recoup errors list --archived --table " + table
	case wire.NoticeReviewMissed:
		return "recoup errors list --parked --table " + table
	}
	return "recoup errors list --table " + table
}

// error describes an error; one that is gone by its id alone.
func (c *composer) error(ctx context.Context, n *outgoing) (Item, error) {
	item := Item{NoticeID: n.ID, ErrorID: n.ErrorID, Key: "notice:" + n.ID.String(), Link: c.link("errors", n.ErrorID)}
	e, err := c.find(ctx, n.ErrorID)
	switch {
	case errors.Is(err, sqldb.ErrNotFound):
		return item, nil
	case err != nil:
		return item, err
	}
	if item.Key, err = c.key(ctx, n, &e); err != nil {
		return item, err
	}
	item.Table, item.Code, item.Severity = clean(e.Table), recoup.Code(clean(string(e.Code))), clean(string(e.Severity))
	item.Reason, item.Tier, item.Blocking = recoup.ParkReason(clean(string(e.ParkReason))), e.EscalationLevel, e.Blocking
	if e.LastFailureCode != e.Code {
		item.Cause = recoup.Code(clean(string(e.LastFailureCode)))
	}
	if t, ok := c.policy.Table(e.Table); ok {
		item.Hub = t.Hub
		if t.DeadLetter {
			item.Hint = letterHint(n, &e)
		}
	}
	switch n.Kind {
	case wire.NoticeExpiring:
		item.Deadline = e.ExpiresAt
	case wire.NoticeParked, wire.NoticeEscalated, wire.NoticeReviewMissed, wire.NoticePaged:
		item.Deadline = e.ReviewDueAt
	}
	return item, nil
}

// key is the same for all errors of a code that one team hears of in one way, which
// are one matter, and for the end of the last of them: while others of them are open,
// the matter is not over, and the end of one has a key of its own.
func (c *composer) key(ctx context.Context, n *outgoing, e *recoup.Error) (string, error) {
	kind := n.Kind
	if kind == wire.NoticePageOver {
		kind = wire.NoticePaged
		open, err := c.paged(ctx, e)
		if open || err != nil {
			return "ended:" + e.ID.String(), err
		}
	}
	return fmt.Sprintf("%s:%s:%s:%s", kind, clean(n.To), clean(e.Table), clean(string(e.Code))), nil
}

// paged reports whether another error is open that an operator was called for
// together with this one.
func (c *composer) paged(ctx context.Context, e *recoup.Error) (bool, error) {
	t, ok := c.policy.Table(e.Table)
	if !ok {
		return false, nil
	}
	for page := (sqldb.Page{Limit: sqldb.MaxPage}); ; {
		others, next, err := c.list(ctx, store.Filter{Table: e.Table, Code: e.Code}, page)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(others, func(o recoup.Error) bool { return o.ID != e.ID && o.State.Open() && c.policy.Pages(t, &o) }) {
			return true, nil
		}
		if page.Cursor = next; next.IsZero() {
			return false, nil
		}
	}
}

// letterHint says where a dead letter is looked at, and why it is the engineers'
// turn if it is. Why a person escalated it stays behind the link.
func letterHint(n *outgoing, e *recoup.Error) string {
	look := "recoup dead-letters show " + e.ID.String()
	if n.Kind == wire.NoticeEscalated && e.EscalationReason == store.EngineeringReview {
		return store.EngineeringReview + "; " + look
	}
	return look
}

func (c *composer) alert(n *outgoing, l *alert.Line) Item {
	return Item{
		NoticeID: n.ID, Key: "alert:" + l.ID.String(), Link: c.link("alerts", l.ID),
		Severity: clean(string(l.Severity)), Rule: clean(l.Rule), Scope: clean(l.Scope), Condition: clean(l.Condition),
		Value: &l.Value, Since: l.Since, Until: l.Until, Notified: l.Notified, Hint: clean(l.Hint),
	}
}

// other describes what is neither an error nor an alert.
func (c *composer) other(n *outgoing, b *body) Item {
	item := Item{NoticeID: n.ID, Key: "notice:" + n.ID.String()}
	if b.Job != "" {
		item.Key, item.Job = "job:"+clean(b.Job), clean(b.Job)
		behind := time.Duration(max(b.Lag, b.Silent, 0)) * time.Second
		if n.Kind == wire.NoticeJobLate && behind > 0 {
			item.Since = n.CreatedAt.Add(-behind)
		}
	}
	if !b.ReplayID.IsZero() {
		item.Key, item.Link = "replay:"+b.ReplayID.String(), c.link("replays", b.ReplayID)
		item.Hint = fmt.Sprintf("%s: %d of %d items are left; recoup replays show %s", clean(b.Why), b.Left, b.Members, b.ReplayID)
	}
	if a := &b.Adopted; a.Source != "" {
		item.Key, item.Table = "adopted:"+clean(a.Source), clean(a.Table)
		item.Hint = fmt.Sprintf("%s is adopted: %d rows have errors, of which %d are parked, %d wait for a retry and %d are archived; %d block their entities until they end or expire; recoup errors list --parked --table %s",
			clean(a.Source), a.Rows, a.Parked, a.Retried, a.Archived, a.Blocking, item.Table)
	}
	if b.InForce != "" {
		item.Key, item.Hint = "policy", "version "+clean(b.InForce)+" is in force"
	}
	return item
}

func (c *composer) link(what string, id recoup.ID) string {
	if c.base == "" || id.IsZero() {
		return ""
	}
	return c.base + "/console/" + what + "/" + id.String()
}
