package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var selectDueWork = `select ` + store.WorkQueue.Names("") + ` from work w indexed by work_due_idx
	where pipeline = ?1 and stage = ?2 and coalesce(replay_id, x'00') = ?3 and due_at <= ?4
	and not exists (select 1 from work_pause p where p.error_class = w.error_class and p.pipeline in ('', w.pipeline)
		and p.stage in ('', w.stage) and (p.until is null or p.until > ?4))
	order by due_at, work_id limit 0 + ?5`

const (
	// selectLanes are the stretches of a lane that may be claimed from: new work,
	// and every replay that runs. ?3 is the time.
	selectLanes = `select replay_id from (select x'00' as replay_id union all select replay_id from replay where state = 'RUNNING')
		where not exists (select 1 from work_pause where error_class = '' and pipeline in ('', ?1) and stage in ('', ?2)
			and (until is null or until > ?3))`

	// leaseMany gives work that was claimed together its lease.
	leaseMany = `update work set lease_token = ?2, lease_worker = ?3, leased_at = ?4, lease_ends_at = ?5, due_at = ?5, claims = claims + 1
		where work_id in (select unhex(value) from json_each(?1))`

	// selectHeld are the places in a list of those pieces of new work that are held under
	// the tokens beside them, and their pipelines.
	selectHeld = `select j.key, w.pipeline from json_each(?) j cross join work w
		where w.work_id = unhex(j.value ->> 0) and w.lease_token = unhex(j.value ->> 1) and w.replay_id is null`
)

// ClaimWork leases work that is due, the longest due first. There is one writer,
// so none is handed to two claimers.
func (s *Store) ClaimWork(ctx context.Context, claim store.WorkClaim) ([]recoup.WorkItem, error) {
	if claim.Limit <= 0 {
		return nil, nil
	}
	var leased []recoup.WorkItem
	err := s.writer.doAt(ctx, "claim work", claim.Now, func(tx *tx) error {
		due, err := tx.dueWork(claim)
		if err != nil {
			return err
		}
		leased, err = tx.lease(due, claim.Decide)
		return err
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// lease asks about each piece of work and writes what follows: one statement for what
// was claimed together and not lost before.
func (t *tx) lease(due []recoup.WorkItem, decide func(recoup.WorkItem, time.Time) (recoup.WorkItem, error)) (leased []recoup.WorkItem, err error) {
	var other []recoup.WorkItem
	var leases []recoup.Lease
	together := map[recoup.Lease][]string{}
	for _, was := range due {
		next, err := decide(was, t.now)
		if err != nil {
			continue
		}
		if !next.LeaseToken.IsZero() {
			leased = append(leased, next)
		}
		if next.LeaseToken.IsZero() || !was.LeaseToken.IsZero() || next != was.Under(next.Lease) {
			other = append(other, next)
			continue
		}
		if together[next.Lease] == nil {
			leases = append(leases, next.Lease)
		}
		together[next.Lease] = append(together[next.Lease], hex.EncodeToString(next.WorkID[:]))
	}
	for _, l := range leases {
		err := t.exec(leaseMany, asJSON(together[l]), id{&l.LeaseToken}, text[string]{&l.LeaseWorker}, stamp{&l.LeasedAt}, stamp{&l.LeaseEndsAt})
		if err != nil {
			return nil, err
		}
	}
	return leased, set(t, store.WorkQueue, other)
}

// FinishWork ends new work that is held under these tokens, and reports of which it
// was.
func (s *Store) FinishWork(ctx context.Context, within *store.Pipelines, ends []store.WorkEnd) ([]bool, error) {
	done, list := make([]bool, len(ends)), make([][2]string, len(ends))
	for i, end := range ends {
		list[i] = [2]string{hex.EncodeToString(end.WorkID[:]), hex.EncodeToString(end.Token[:])}
	}
	err := s.writer.do(ctx, func(tx *tx) error {
		clear(done)
		type held struct {
			place    int
			pipeline string
		}
		found, err := collectAll(tx, func(h *held) []any { return []any{&h.place, &h.pipeline} }, selectHeld, asJSON(list))
		if err != nil {
			return err
		}
		var works []string
		var tallies store.StagedTallies
		ended := map[recoup.ID]bool{}
		for _, h := range found {
			if work := ends[h.place].WorkID; within.Has(h.pipeline) && !ended[work] {
				done[h.place], ended[work] = true, true
				works = append(works, list[h.place][0])
				tallies.Finish(h.pipeline)
			}
		}
		if err := tx.saveStaged(tallies); err != nil {
			return err
		}
		return tx.end(works)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// end deletes work with its payload and its checkpoints.
func (t *tx) end(works []string) error {
	for _, table := range []string{"work", "work_payload", "checkpoint"} {
		if err := t.exec("delete from "+table+" where work_id in (select unhex(value) from json_each(?))", asJSON(works)); err != nil {
			return err
		}
	}
	return nil
}

// asJSON is a list as the parameter of json_each.
func asJSON(list any) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic("sqlite: a list is not JSON: " + err.Error())
	}
	return string(b)
}

// dueWork returns the longest due of all lanes: as many as are asked for are
// read of each stretch, and the first of them are taken.
func (t *tx) dueWork(claim store.WorkClaim) ([]recoup.WorkItem, error) {
	now, limit := micros(t.now), sqldb.Page{Limit: claim.Limit}.Size()
	var all []recoup.WorkItem
	for _, lane := range claim.Lanes {
		stretches, err := collectAll(t, func(b *[]byte) []any { return []any{b} }, selectLanes, lane.Pipeline, lane.Stage, now)
		if err != nil {
			return nil, err
		}
		for _, replay := range stretches {
			list, err := rowsOf(t, store.WorkQueue.Columns, selectDueWork, lane.Pipeline, lane.Stage, replay, now, limit)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
	}
	slices.SortFunc(all, func(a, b recoup.WorkItem) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), bytes.Compare(a.WorkID[:], b.WorkID[:]))
	})
	return all[:min(len(all), limit)], nil
}

// HoldWork implements [sqlops.Tx]: work keeps its lease in its row.
func (a act) HoldWork(_, _ []recoup.ID) error { return nil }

// Leased implements [sqlops.Tx].
func (a act) Leased(*recoup.WorkItem) {}

// Fence implements [sqlops.Tx].
func (a act) Fence(work, token recoup.ID) error {
	held, err := rowsOf(a.tx, store.WorkQueue.Columns, `select `+store.WorkQueue.Names("")+` from work where work_id = ?`, id{&work})
	if err != nil {
		return err
	}
	return store.Fence(held, token)
}

// SaveQueue implements [sqlops.Tx].
func (a act) SaveQueue(added []recoup.WorkItem, changed []store.Change[recoup.WorkItem], gone []recoup.WorkItem) error {
	for i := range gone {
		if err := a.exec(`delete from work where work_id = ?`, id{&gone[i].WorkID}); err != nil {
			return err
		}
	}
	for _, c := range changed {
		if err := set(a.tx, store.WorkQueue, []recoup.WorkItem{c.Is}); err != nil {
			return err
		}
	}
	if err := a.saveStaged(store.QueueTallies(added, gone)); err != nil {
		return err
	}
	return add(a.tx, store.WorkQueue, added)
}

// FoldDeadLetterCounts has nothing to fold: the triggers count in place.
func (s *Store) FoldDeadLetterCounts(ctx context.Context) error { return ctx.Err() }
