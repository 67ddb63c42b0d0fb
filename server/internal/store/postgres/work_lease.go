package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// New work that is claimed together is leased by one row, and the rows of the work
// itself stay as they were. What becomes different from the others of its batch
// leaves it, and has its lease in a row of its own.

// workLease is a row of work_lease.
type workLease struct {
	recoup.Lane
	recoup.Lease
	Works []recoup.ID
}

// fits reports whether a lease of a batch says all there is to say about a claim.
func fits(was, next *recoup.WorkItem) bool {
	return was.LeaseToken.IsZero() && was.ReplayID.IsZero() && !next.LeaseToken.IsZero() && *next == was.Under(next.Lease)
}

var heldColumns = func() []column[workLease] {
	type l = workLease
	return []column[l]{
		id("token", func(l *l) *recoup.ID { return &l.LeaseToken }),
		text("pipeline", func(l *l) *string { return &l.Pipeline }),
		text("stage", func(l *l) *string { return &l.Stage }),
		text("worker", func(l *l) *string { return &l.LeaseWorker }),
		stamp("leased_at", func(l *l) *time.Time { return &l.LeasedAt }),
		stamp("ends_at", func(l *l) *time.Time { return &l.LeaseEndsAt }),
		{name: "work_ids", read: func(l *l, value []byte) (err error) { l.Works, err = readIDs(value); return err }},
	}
}()

var (
	lockLeases = "select " + names(heldColumns, "") + ` from recoup.work_lease where token = any ($1::uuid[])
		order by token, pipeline, stage for update`

	// Work that waits, or that is held in a batch which nobody has named.
	selectPlain = `select work_id from recoup.work
		where work_id = any ($1::uuid[]) and lease_token is null and replay_id is null and due_at is not null`

	// findLeases looks through all batches. Callers that pass the token do not need it.
	findLeases = "select " + names(heldColumns, "") + ` from recoup.work_lease l
		where exists (select from unnest(l.work_ids) i where i = any ($1::uuid[]))`
)

// arrayHeader is what comes before the elements of an array of one dimension.
const arrayHeader = 20

// idArray is a parameter of many ids.
func idArray(list []recoup.ID) encoded {
	const size = len(recoup.ID{})
	buf := make([]byte, 0, arrayHeader+len(list)*(4+size))
	for _, n := range []uint32{1, 0, pgtype.UUIDOID, uint32(len(list)), 1} {
		buf = binary.BigEndian.AppendUint32(buf, n)
	}
	for i := range list {
		buf = append(binary.BigEndian.AppendUint32(buf, uint32(size)), list[i][:]...)
	}
	return buf
}

// readIDs reads an array of ids.
func readIDs(value []byte) ([]recoup.ID, error) {
	const step = 4 + len(recoup.ID{})
	if len(value) < arrayHeader || (len(value)-arrayHeader)%step != 0 {
		return nil, fmt.Errorf("%d bytes are no ids", len(value))
	}
	list := make([]recoup.ID, (len(value)-arrayHeader)/step)
	for i := range list {
		copy(list[i][:], value[arrayHeader+i*step+4:])
	}
	return list, nil
}

// batches are the leases of batches that a transaction has locked, and what it does
// to them.
type batches struct {
	list []*workLease
	of   map[recoup.ID]*workLease // by work, as long as it is not taken out
	cut  map[*workLease]bool      // something was taken out
}

func newBatches(list []workLease) *batches {
	b := &batches{of: map[recoup.ID]*workLease{}, cut: map[*workLease]bool{}}
	b.add(list)
	return b
}

func (b *batches) add(list []workLease) {
	for i := range list {
		b.list = append(b.list, &list[i])
		for _, work := range list[i].Works {
			b.of[work] = &list[i]
		}
	}
}

// take takes work out of its batch, and reports whether it was in one.
func (b *batches) take(work recoup.ID) bool {
	l := b.of[work]
	if l == nil {
		return false
	}
	delete(b.of, work)
	b.cut[l] = true
	return true
}

// over gives work that is held in a batch its lease.
func (b *batches) over(q *recoup.WorkItem) {
	if l := b.of[q.WorkID]; l != nil {
		*q = q.Under(l.Lease)
	}
}

// extend lets a whole batch end later, if that is all that changes, and returns the
// changes that are left.
func (b *batches) extend(changes []store.Change[recoup.WorkItem]) []store.Change[recoup.WorkItem] {
	later := map[*workLease][]store.Change[recoup.WorkItem]{}
	for _, c := range changes {
		as := c.Was
		as.LeaseEndsAt, as.DueAt = c.Is.LeaseEndsAt, c.Is.LeaseEndsAt
		if l := b.of[c.Was.WorkID]; l != nil && as == c.Is {
			later[l] = append(later[l], c)
		}
	}
	for l, list := range later {
		if len(list) != len(l.Works) || slices.ContainsFunc(list, func(c store.Change[recoup.WorkItem]) bool { return !c.Is.LeaseEndsAt.Equal(list[0].Is.LeaseEndsAt) }) {
			delete(later, l)
			continue
		}
		l.LeaseEndsAt = list[0].Is.LeaseEndsAt
		b.cut[l] = true
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c store.Change[recoup.WorkItem]) bool { return later[b.of[c.Was.WorkID]] != nil })
}

// write queues what was done to batches.
func (b *batches) write(t *tx) {
	var gone []workLease
	for _, l := range b.list {
		if !b.cut[l] {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(l.Works), func(work recoup.ID) bool { return b.of[work] != l })
		if len(left) == 0 {
			gone = append(gone, *l)
			continue
		}
		t.queue("update recoup.work_lease set work_ids = $4, ends_at = $5 where token = $1 and pipeline = $2 and stage = $3",
			l.LeaseToken[:], l.Pipeline, l.Stage, idArray(left), l.LeaseEndsAt)
	}
	if len(gone) > 0 {
		n := newBatch(heldColumns[:3], pointers(gone))
		t.queue("delete from recoup.work_lease e"+n.using()+" where (e.token, e.pipeline, e.stage) = ("+n.values[0]+", "+n.values[1]+", "+n.values[2]+")", n.args...)
	}
}

// lease queues new batches of work that was claimed.
func lease(t *tx, claimed []recoup.WorkItem) {
	type key struct {
		recoup.Lane
		recoup.Lease
	}
	var order []key
	works := map[key][]recoup.ID{}
	for i := range claimed {
		q := &claimed[i]
		k := key{recoup.Lane{Pipeline: q.Pipeline, Stage: q.Stage}, q.Lease}
		if works[k] == nil {
			order = append(order, k)
		}
		works[k] = append(works[k], q.WorkID)
	}
	for _, k := range order {
		t.queue("insert into recoup.work_lease (token, pipeline, stage, worker, leased_at, ends_at, work_ids) values ($1, $2, $3, $4, $5, $6, $7)",
			k.LeaseToken[:], k.Pipeline, k.Stage, optional(k.LeaseWorker), k.LeasedAt, k.LeaseEndsAt, idArray(works[k]))
	}
}

// lockBatches reads and locks the batches of these tokens, and those in which work is
// held whose token was not passed.
func lockBatches(ctx context.Context, t *tx, works, tokens []recoup.ID) (*batches, error) {
	var found, others []workLease
	var plain []recoup.ID
	if len(tokens) > 0 {
		collect(t.queue(lockLeases, idArray(tokens)), decode(heldColumns), &found)
	}
	collect(t.queue(selectPlain, idArray(works)), pgx.RowTo[recoup.ID], &plain)
	if err := t.send(ctx); err != nil {
		return nil, err
	}
	b := newBatches(found)
	if plain = slices.DeleteFunc(plain, func(work recoup.ID) bool { return b.of[work] != nil }); len(plain) == 0 {
		return b, nil
	}
	collect(t.queue(findLeases+" order by token, pipeline, stage for update", idArray(plain)), decode(heldColumns), &others)
	if err := t.send(ctx); err != nil {
		return nil, err
	}
	b.add(others)
	return b, nil
}

// HoldWork implements [sqlops.Tx].
func (a *act) HoldWork(works, tokens []recoup.ID) (err error) {
	a.held, err = lockBatches(a.ctx, a.tx, works, tokens)
	return err
}

// Leased implements [sqlops.Tx].
func (a *act) Leased(q *recoup.WorkItem) { a.held.over(q) }

// StagedWork returns what there is of a piece of work.
func (s *Store) StagedWork(ctx context.Context, work recoup.ID) (store.StagedWork, error) {
	rows, err := s.pool.Query(ctx, findLeases, idArray([]recoup.ID{work}))
	held, err := collectRows("read a lease", rows, err, decode(heldColumns))
	if err != nil {
		return store.StagedWork{}, err
	}
	l, err := s.Ops.StagedWork(ctx, work)
	if q := &l.Queued; err == nil && hasTicket(q) {
		newBatches(held).over(q)
	}
	return l, err
}

// FinishWork ends new work that is held under these tokens, and reports of which it
// was: two statements for a batch that is finished as it was claimed.
func (s *Store) FinishWork(ctx context.Context, within *store.Pipelines, ends []store.WorkEnd) ([]bool, error) {
	done := make([]bool, len(ends))
	err := s.transact(ctx, "finish work", time.Time{}, func(t *tx) error {
		clear(done)
		var found []workLease
		collect(t.queue(lockLeases, idArray(tokensOf(ends))), decode(heldColumns), &found)
		if err := t.lock(ctx); err != nil {
			return err
		}
		var tallies store.StagedTallies
		b, works := newBatches(found), make([]recoup.ID, 0, len(ends))
		for i, end := range ends {
			if l := b.of[end.WorkID]; l != nil && l.LeaseToken == end.Token && within.Has(l.Pipeline) {
				done[i] = b.take(end.WorkID)
				works = append(works, end.WorkID)
				tallies.Finish(l.Pipeline)
			}
		}
		b.write(t)
		if len(works) > 0 {
			t.queue("delete from recoup.work where work_id = any ($1::uuid[])", idArray(works))
			forget(t, works)
			writeStaged(t, tallies)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// tokensOf returns each token once, if they come together.
func tokensOf(ends []store.WorkEnd) []recoup.ID {
	tokens := make([]recoup.ID, 0, 1)
	for _, end := range ends {
		if len(tokens) == 0 || tokens[len(tokens)-1] != end.Token {
			tokens = append(tokens, end.Token)
		}
	}
	return tokens
}
