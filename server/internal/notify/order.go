package notify

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// before says what a channel must have been sent before it is sent a kind: the
// beginning before the end; empty: nothing. A job that is late again is the same
// matter as before, so that there the end comes before the next beginning, too.
func before(kind wire.NoticeKind) wire.NoticeKind {
	switch kind {
	case wire.NoticePageOver:
		return wire.NoticePaged
	case wire.NoticeAlertResolved:
		return wire.NoticeAlert
	case wire.NoticeJobRecovered:
		return wire.NoticeJobLate
	case wire.NoticeJobLate:
		return wire.NoticeJobRecovered
	}
	return ""
}

// longestHold is how long a notice that waits for another is left alone at a time.
// The other may be a node's that takes its time, or has died.
const longestHold = 30 * time.Second

// matters names what a notice is about, from its beginning to its end.
func (l *outgoing) matters() (list []string) {
	if !l.ErrorID.IsZero() {
		return []string{l.ErrorID.String()}
	}
	b := readBody(l.body)
	for _, line := range b.Alerts {
		list = append(list, line.ID.String())
	}
	if b.Job != "" {
		list = append(list, "job:"+b.Job)
	}
	return list
}

// wait is what waits of a matter.
type wait struct {
	since time.Time // the first of it arose
	due   time.Time // the last of it is sent at the earliest
}

// hold takes out of a batch what the channel may not be sent yet, because what came
// before it still waits to be sent there, and says when that is tried again. So an
// incident is never opened after it was resolved. If what came before is given up,
// nothing waits any more.
func (l *lane) hold(ctx context.Context, now time.Time, b *batch) ([]store.Delivery, error) {
	kind := before(b.kind)
	if kind == "" {
		return nil, nil
	}
	waits, all, err := l.waits(ctx, kind, b)
	if err != nil {
		return nil, err
	}
	held := batch{group: b.group}
	at := now
	b.list = slices.DeleteFunc(slices.Clone(b.list), func(n outgoing) bool {
		due, must := n.waitsFor(waits)
		if must || all {
			held.list = append(held.list, n)
		}
		if must && due.After(at) {
			at = due
		}
		return must || all
	})
	at = at.Add(soonest)
	if latest := now.Add(longestHold); at.After(latest) {
		at = latest
	}
	return later(&held, at, "an earlier notification is still waiting"), nil
}

// waits returns what waits for the channel of a kind, by matter. If there is more
// than can be looked at, all have to wait.
func (l *lane) waits(ctx context.Context, kind wire.NoticeKind, b *batch) (waits map[string]wait, all bool, err error) {
	var errors []recoup.ID
	for i := range b.list {
		if id := b.list[i].ErrorID; !id.IsZero() {
			errors = append(errors, id)
		}
	}
	list, err := l.d.o.Store.WaitingNotices(ctx, kind, errors)
	if err != nil || len(list) >= store.MaxWaitingNotices {
		return nil, true, err
	}
	rules := &l.d.o.Policy().Notifications
	waits = map[string]wait{}
	for _, n := range list {
		x := read(n)
		if !slices.Contains(l.d.channels(rules, &x, x.urgency()), l.name) {
			continue
		}
		for _, matter := range x.matters() {
			w, known := waits[matter]
			if !known || x.arose().Before(w.since) {
				w.since = x.arose()
			}
			if x.DueAt.After(w.due) {
				w.due = x.DueAt
			}
			waits[matter] = w
		}
	}
	return waits, false, nil
}

// waitsFor says whether a notice has to wait, and until when at least.
func (l *outgoing) waitsFor(waits map[string]wait) (due time.Time, must bool) {
	for _, matter := range l.matters() {
		w, waiting := waits[matter]
		if !waiting || w.since.After(l.arose()) || l.Kind == wire.NoticeJobLate && !w.since.Before(l.arose()) {
			continue
		}
		if must = true; w.due.After(due) {
			due = w.due
		}
	}
	return due, must
}
