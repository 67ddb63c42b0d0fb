package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// ticketColumns is what of work is in the queue. New work has the stretch of zeros.
var ticketColumns = func() []column[recoup.WorkItem] {
	type q = recoup.WorkItem
	stretch := id("replay_id", func(q *q) *recoup.ID { return &q.ReplayID })
	stretch.write = func(buf []byte, q *q) []byte { return append(buf, q.ReplayID[:]...) }
	return []column[q]{
		id("work_id", func(q *q) *recoup.ID { return &q.WorkID }),
		text("pipeline", func(q *q) *string { return &q.Pipeline }),
		text("stage", func(q *q) *string { return &q.Stage }),
		stamp("due_at", func(q *q) *time.Time { return &q.DueAt }),
		stretch,
	}
}()

// turnOf is the table of the queue for what is due then.
func turnOf(due string) string {
	return "case when " + due + " > (select recoup.clock()) + interval '1 minute' then 2 else (select turn from recoup.work_turn) end"
}

// hasTicket reports whether work has a ticket, or is in a batch.
func hasTicket(q *recoup.WorkItem) bool { return q.LeaseToken.IsZero() && !q.DueAt.IsZero() }

// addTickets queues the tickets of what waits.
func addTickets(t *tx, waiting []recoup.WorkItem) {
	if len(waiting) > 0 {
		b := newBatch(ticketColumns, pointers(waiting))
		due := b.values[3]
		b.names, b.values = append(b.names, "turn"), append(b.values, turnOf(due))
		t.queue(b.insert("recoup.work_due"), b.args...)
	}
}

// errTaken is returned for a ticket that a claim has taken meanwhile.
var errTaken = errors.New("a claim was faster")

// dropTickets queues the deletion of tickets. That of new work may be gone, because
// claims do not wait for locks on it.
func dropTickets(t *tx, waiting []recoup.WorkItem) {
	if len(waiting) == 0 {
		return
	}
	fresh := int64(0)
	for i := range waiting {
		if waiting[i].ReplayID.IsZero() {
			fresh++
		}
	}
	b := newBatch(ticketColumns, pointers(waiting))
	v := b.values
	where := fmt.Sprintf(" where (e.work_id, e.pipeline, e.stage, e.due_at, e.replay_id) = (%s, %s, %s, %s, %s)", v[0], v[1], v[2], v[3], v[4])
	t.queue("delete from recoup.work_due e"+b.using()+where, b.args...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() < fresh {
			return errTaken
		}
		return nil
	})
}

// turnEvery is after how many claimed tickets a node has the queue change its table,
// so that claims walk over few dead ones whatever keeps those from being vacuumed.
const turnEvery = 5000

// turn has the queue change its table when it is time. Where that does not work now,
// it will some other time.
func (s *Store) turn(ctx context.Context, claimed int) {
	if n := s.claimed.Add(int64(claimed)); n/turnEvery > (n-int64(claimed))/turnEvery {
		_, _ = s.pool.Exec(ctx, "select recoup.turn_work()")
	}
}

// SaveQueue implements [sqlops.Tx].
func (a *act) SaveQueue(added []recoup.WorkItem, changed []store.Change[recoup.WorkItem], gone []recoup.WorkItem) error {
	if a.held == nil {
		a.held = newBatches(nil)
	}
	var tickets, dropped, own []recoup.WorkItem
	var ended []recoup.ID
	for i := range gone {
		if ended = append(ended, gone[i].WorkID); !a.held.take(gone[i].WorkID) && hasTicket(&gone[i]) {
			dropped = append(dropped, gone[i])
		}
	}
	for _, c := range a.held.extend(changed) {
		if !a.held.take(c.Was.WorkID) && hasTicket(&c.Was) {
			dropped = append(dropped, c.Was)
		}
		if own = append(own, c.Is); hasTicket(&c.Is) {
			tickets = append(tickets, c.Is)
		}
	}
	for i := range added {
		if hasTicket(&added[i]) {
			tickets = append(tickets, added[i])
		}
	}
	a.held.write(a.tx)
	if len(ended) > 0 {
		a.queue("delete from recoup.work where work_id = any ($1::uuid[])", idArray(ended))
	}
	writeStaged(a.tx, store.QueueTallies(added, gone))
	setRows(a.tx, "recoup.work", queueChanges, own)
	addRows(a.tx, "recoup.work", queueColumns, added, "")
	dropTickets(a.tx, dropped)
	addTickets(a.tx, tickets)
	return nil
}

// forget queues the end of payloads and checkpoints.
func forget(t *tx, works []recoup.ID) {
	t.queue("delete from recoup.work_payload where work_id = any ($1::uuid[])", idArray(works))
	t.queue("delete from recoup.checkpoint where work_id = any ($1::uuid[])", idArray(works))
}
