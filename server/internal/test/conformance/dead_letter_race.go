package conformance

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func letterRaces() []letterClause {
	return []letterClause{
		{"sixteen claimers get each piece of work exactly once", letterRaceClaims},
		{"of sixteen first failures of one piece of work exactly one is recorded", letterRaceRecords},
		{"of sixteen results under one token exactly one counts", letterRaceResults},
		{"of sixteen replays that want the same dead letters each is in one", letterRaceMembers},
		{"releases at once release each item once", letterRaceReleases},
		{"claims that begin after a pause get nothing of it", letterRacePause},
		{"claims, results, archives and a cancel at once leave one truth", letterRaceEverything},
	}
}

func letterRaceClaims(d *letterDriver) {
	const each = 24
	d.submit("fetch", each)
	d.submit("llm", each)
	ids := d.deadMany(each, slow)
	d.validated(ids...)
	d.replayed(each, ids...)
	claimed := make([][]recoup.WorkItem, crowd)
	var left atomic.Int64
	left.Store(3 * each)
	d.together(func(i int) error {
		for left.Load() > 0 {
			got, err := d.tryClaim(fmt.Sprint("w", i), 7, recoup.Lane{Pipeline: criticizer, Stage: "fetch"}, recoup.Lane{Pipeline: criticizer, Stage: "llm"})
			if err != nil {
				return err
			}
			left.Add(-int64(len(got)))
			claimed[i] = append(claimed[i], got...)
		}
		return nil
	})
	seen := map[recoup.ID]bool{}
	for _, list := range claimed {
		for _, q := range list {
			if seen[q.WorkID] {
				d.Errorf("%v was claimed twice", q.WorkID)
			}
			seen[q.WorkID] = true
		}
		d.ack(list)
	}
	if len(seen) != 3*each || left.Load() != 0 {
		d.Errorf("claimed %d", len(seen))
	}
}

func letterRaceRecords(d *letterDriver) {
	for range 3 {
		work := d.id()
		var recorded atomic.Int64
		d.together(func(int) error {
			_, err := d.stepWork(work, d.fail(work, slow))
			switch {
			case err == nil:
				recorded.Add(1)
			case !errors.Is(err, errNo):
				return err
			}
			return nil
		})
		if n := recorded.Load(); n != 1 {
			d.Errorf("recorded %d times", n)
		}
	}
	g, err := d.store.Group(d.Context(), recoup.GroupID(criticizer, slow.Stage, slow.Class, slow.Signature))
	d.must(err)
	if g.Open != 3 || g.Total != 3 {
		d.Errorf("the group counts %+v", g)
	}
}

func letterRaceResults(d *letterDriver) {
	ids := d.deadMany(2, slow)
	d.validated(ids...)
	replay := d.replayed(2, ids...)
	for _, q := range append(d.claim(2), d.claimedNew()) {
		var counted atomic.Int64
		d.together(func(i int) error {
			f := malformed
			f.Token = q.LeaseToken
			decide := d.fail(q.WorkID, f)
			if i%2 == 0 {
				decide = d.succeed(q.LeaseToken)
			}
			_, err := d.stepWork(q.WorkID, decide)
			switch {
			case err == nil:
				counted.Add(1)
			case !errors.Is(err, errNo):
				return err
			}
			return nil
		})
		if n := counted.Load(); n != 1 {
			d.Errorf("%d results counted", n)
		}
	}
	s, err := d.store.Replay(d.Context(), replay)
	d.must(err)
	if n := s.Count(recoup.ItemSucceeded, recoup.ItemFailed); n != 2 || s.Count(recoup.ItemReleased) != 0 {
		d.Errorf("the replay counts %+v", s.ByPhase)
	}
}

// claimedNew submits a piece of new work and claims it.
func (d *letterDriver) claimedNew() recoup.WorkItem {
	d.Helper()
	d.submit("llm", 1)
	return d.claim(1)[0]
}

func letterRaceMembers(d *letterDriver) {
	ids := d.deadMany(8, slow)
	d.validated(ids...)
	replays := make([]recoup.ID, crowd)
	for i := range replays {
		replays[i] = d.replayOf().ID
	}
	added := make([]int, crowd)
	d.together(func(i int) error {
		outcomes, err := d.store.AddMembers(d.Context(), d.now, store.Members{ReplayID: replays[i], ErrorIDs: ids, Decide: d.join(replays[i])})
		if err != nil {
			return err
		}
		added[i] = 0
		for _, out := range outcomes {
			if out.Err == nil {
				added[i]++
			}
		}
		return nil
	})
	total := 0
	for i, replay := range replays {
		if n := len(d.items(replay, "")); n != added[i] {
			d.Errorf("a replay has %d items, was answered %d", n, added[i])
		}
		total += added[i]
	}
	if total != len(ids) {
		d.Errorf("%d items of %d dead letters", total, len(ids))
	}
}

func letterRaceReleases(d *letterDriver) {
	ids := d.deadMany(20, slow)
	d.validated(ids...)
	replay := d.replayed(0, ids...)
	d.together(func(int) error {
		_, err := d.store.StepReplay(d.Context(), d.now, replay, func(s store.ReplayStatus, _ time.Time) (recoup.Replay, store.ReplayEffects, error) {
			s.Phase++
			return s.Replay, store.ReplayEffects{Release: 1}, nil
		})
		return err
	})
	want := []store.ReplayCount{{Phase: 0, State: recoup.ItemPending, N: int64(len(ids) - crowd)}}
	for i := range crowd { // each has seen the one before it
		want = append(want, store.ReplayCount{Phase: i + 2, State: recoup.ItemReleased, N: 1})
	}
	d.wantCounts(replay, want...)
	if got := d.claim(100); len(got) != crowd {
		d.Errorf("in the queue are %d", len(got))
	}
}

func letterRacePause(d *letterDriver) {
	ids := d.deadMany(16, slow)
	d.validated(ids...)
	replay := d.replayed(16, ids...)
	var paused atomic.Bool
	d.together(func(i int) error {
		if i == 0 {
			_, err := d.store.StepReplay(d.Context(), d.now, replay, d.to(recoup.ReplayPaused, 0))
			if err == nil {
				paused.Store(true)
			}
			return err
		}
		for range 4 {
			before := paused.Load()
			got, err := d.tryClaim("w", 1, recoup.Lane{Pipeline: criticizer, Stage: "fetch"})
			if err != nil {
				return err
			}
			if before && len(got) > 0 {
				return fmt.Errorf("claimed %v after the pause", got[0].WorkID)
			}
		}
		return nil
	})
	if got := d.claim(100); len(got) > 0 {
		d.Errorf("claimed %d of a paused replay", len(got))
	}
}

func letterRaceEverything(d *letterDriver) {
	ids := d.deadMany(30, slow)
	d.validated(ids...)
	replay := d.replayed(20, ids...)
	d.together(func(i int) error {
		switch i {
		case 0:
			return d.archiveSome(ids)
		case 1:
			return d.cancelAll(replay)
		case 2:
			return d.store.FoldDeadLetterCounts(d.Context())
		}
		for range 4 {
			got, err := d.tryClaim(fmt.Sprint("w", i), 3, recoup.Lane{Pipeline: criticizer, Stage: "fetch"})
			if err != nil {
				return err
			}
			for _, q := range got {
				if _, err := d.stepWork(q.WorkID, d.succeed(q.LeaseToken)); err != nil && !errors.Is(err, errNo) {
					return err
				}
			}
		}
		return nil
	})
	d.must(d.cancelAll(replay))
	d.checkReplay(replay)
}

// archiveSome archives every fifth dead letter, whatever happens to it.
func (d *letterDriver) archiveSome(ids []recoup.ID) error {
	for i := 0; i < len(ids); i += 5 {
		if err := untilFree(func() error { return d.archive(ids[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// cancelAll cancels a replay and ends what nobody holds.
func (d *letterDriver) cancelAll(replay recoup.ID) error {
	_, err := d.store.StepReplay(d.Context(), d.now, replay, d.to(recoup.ReplayCancelling, 0))
	if err != nil {
		return err
	}
	for n := 1; n > 0 && err == nil; {
		n, err = d.store.EndItems(d.Context(), d.now, replay, 10, d.cancel())
	}
	return err
}

// checkReplay says that a replay that nobody works on any more, its counts, its
// items and their dead letters agree.
func (d *letterDriver) checkReplay(replay recoup.ID) {
	d.Helper()
	counts := map[recoup.ItemState]int64{}
	for _, item := range d.items(replay, "") {
		counts[item.State]++
		l := d.read(item.ErrorID)
		ok := map[recoup.ItemState]bool{
			recoup.ItemSucceeded: l.Dead.Step == recoup.StepReplayed || l.Error.State == recoup.Archived,
			recoup.ItemCancelled: l.Dead.Step == recoup.StepValidated || l.Error.State == recoup.Archived,
			recoup.ItemArchived:  l.Error.State == recoup.Archived,
		}[item.State]
		if !ok || l.Queued != (recoup.WorkItem{}) || l.Item != (recoup.ReplayItem{}) || (l.Error.State == recoup.Archived) == l.Dead.Open() {
			d.Errorf("item %+v and %+v", item, l)
		}
	}
	s, err := d.store.Replay(d.Context(), replay)
	d.must(err)
	var total int64
	for state, n := range counts {
		if total += n; s.Count(state) != n {
			d.Errorf("%d items are %s, counted are %d", n, state, s.Count(state))
		}
	}
	if total != int64(s.Members) {
		d.Errorf("%d items of %d members", total, s.Members)
	}
}
