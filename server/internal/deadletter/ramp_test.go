package deadletter_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// running is a replay of a hundred in a phase, ten seconds into it.
func running(phase int, counts ...store.ReplayCount) store.ReplayStatus {
	return store.ReplayStatus{ByPhase: counts, Replay: recoup.Replay{
		State: recoup.ReplayRunning, Members: 100, Phase: phase, PhaseAt: epoch, StartedAt: epoch, NextAt: epoch,
		Plan: recoup.ReplayPlan{Rate: 2, Concurrency: 50, Canary: 1, Share: 0.1, Limit: 0.2},
	}}
}

func n(phase int, state recoup.ItemState, n int64) store.ReplayCount {
	return store.ReplayCount{Phase: phase, State: state, N: n}
}

const (
	pending   = recoup.ItemPending
	released  = recoup.ItemReleased
	succeeded = recoup.ItemSucceeded
	failed    = recoup.ItemFailed
	repeated  = recoup.ItemRepeated
)

// Ten seconds into a phase, at two items per second: the one that is due, and a
// second's worth that is made up for.
func TestDecideReplay(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status  store.ReplayStatus
		state   recoup.ReplayState
		phase   int
		release int
	}{
		"the canary is one":                  {running(1, n(0, pending, 100)), recoup.ReplayRunning, 1, 1},
		"the canary waits for its result":    {running(1, n(0, pending, 99), n(1, released, 1)), recoup.ReplayRunning, 1, 0},
		"the share follows":                  {running(1, n(0, pending, 99), n(1, succeeded, 1)), recoup.ReplayRunning, 2, 1},
		"the canary was archived":            {running(1, n(0, pending, 99), n(1, recoup.ItemArchived, 1)), recoup.ReplayRunning, 2, 1},
		"the canary fails otherwise":         {running(1, n(0, pending, 99), n(1, failed, 1)), recoup.ReplayPaused, 1, 0},
		"the canary fails as before":         {running(1, n(0, pending, 99), n(1, repeated, 1)), recoup.ReplayPaused, 1, 0},
		"the share goes on":                  {running(2, n(0, pending, 96), n(1, succeeded, 1), n(2, succeeded, 3)), recoup.ReplayRunning, 2, 3},
		"the share ends at ten":              {running(2, n(0, pending, 90), n(1, succeeded, 1), n(2, succeeded, 9)), recoup.ReplayRunning, 2, 1},
		"the share waits for all":            {running(2, n(0, pending, 89), n(1, succeeded, 1), n(2, succeeded, 9), n(2, released, 1)), recoup.ReplayRunning, 2, 0},
		"the share forgives two of ten":      {running(2, n(0, pending, 89), n(1, succeeded, 1), n(2, succeeded, 8), n(2, failed, 2)), recoup.ReplayRunning, 3, 1},
		"the share stops at three":           {running(2, n(0, pending, 92), n(1, succeeded, 1), n(2, succeeded, 4), n(2, failed, 3)), recoup.ReplayPaused, 2, 0},
		"the rest follows":                   {running(2, n(0, pending, 89), n(1, succeeded, 1), n(2, succeeded, 10)), recoup.ReplayRunning, 3, 1},
		"the rest counts for itself":         {running(3, n(0, pending, 80), n(2, failed, 2), n(3, succeeded, 9)), recoup.ReplayRunning, 3, 3},
		"the rest stops at the same class":   {running(3, n(0, pending, 50), n(3, succeeded, 38), n(3, repeated, 1)), recoup.ReplayPaused, 3, 0},
		"four of twenty are not too many":    {running(3, n(0, pending, 69), n(3, succeeded, 10), n(3, failed, 4)), recoup.ReplayRunning, 3, 3},
		"five of fourteen are":               {running(3, n(0, pending, 69), n(3, succeeded, 9), n(3, failed, 5)), recoup.ReplayPaused, 3, 0},
		"no more than workers can hold":      {running(3, n(0, pending, 39), n(2, released, 49)), recoup.ReplayRunning, 3, 1},
		"no more than there are":             {running(3, n(0, pending, 1), n(3, succeeded, 10)), recoup.ReplayRunning, 3, 1},
		"what is out is waited for":          {running(3, n(3, released, 1), n(3, succeeded, 10)), recoup.ReplayRunning, 3, 0},
		"it is done":                         {running(3, n(3, succeeded, 99), n(3, repeated, 1)), recoup.ReplayDone, 3, 0},
		"a second ramp begins with a canary": {running(4, n(0, pending, 60), n(1, repeated, 1), n(3, failed, 30)), recoup.ReplayRunning, 4, 1},
	} {
		now := epoch.Add(10 * time.Second)
		r, effects := deadletter.DecideReplay(row.status, now)
		if r.State != row.state || r.Phase != row.phase || effects.Release != row.release {
			t.Errorf("%s: %s in phase %d releases %d, want %s, %d and %d", name, r.State, r.Phase, effects.Release, row.state, row.phase, row.release)
		}
		switch stopped := r.State == recoup.ReplayPaused; {
		case stopped && (r.StateBy != recoup.System || r.Why == "" || len(effects.Notes) != 1 || !r.NextAt.IsZero()):
			t.Errorf("%s: stopped as %+v", name, r)
		case r.State == recoup.ReplayRunning && (r.NextAt.Before(now) || r.NextAt.Sub(now) > time.Second):
			t.Errorf("%s: looked at again after %v", name, r.NextAt.Sub(now))
		}
	}
	for _, state := range []recoup.ReplayState{recoup.ReplayCollecting, recoup.ReplayPaused, recoup.ReplayCancelling, recoup.ReplayDone} {
		s := running(3, n(0, pending, 9))
		s.State = state
		if r, effects := deadletter.DecideReplay(s, epoch.Add(time.Hour)); r != s.Replay || effects.Release != 0 {
			t.Errorf("%s goes on", state)
		}
	}
}

// However often and by whomever a replay is looked at, what it has released by a
// time is what the rate allows by then, to the item, while nothing else holds it up;
// after a hold-up it makes up for a second at most.
func TestRateIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 500).Draw(t, "rate")
		s := running(3)
		s.Plan.Rate, s.Plan.Concurrency, s.Members = rate, math.MaxInt32, 1_000_000
		now, out := epoch, 0
		for i := range rapid.IntRange(1, 60).Draw(t, "looks") {
			if i > 0 {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(900*time.Millisecond)).Draw(t, "later")).Truncate(time.Microsecond))
			}
			s.ByPhase = []store.ReplayCount{n(0, pending, int64(1_000_000-out)), n(3, succeeded, int64(out))}
			next, effects := deadletter.DecideReplay(s, now)
			s.Replay = next
			out += effects.Release
			allowed := now.Sub(epoch).Seconds()*rate + 1
			if float64(out) > allowed+1e-3 || float64(out) < math.Floor(allowed-1e-3) && effects.Release < sqldb.MaxPage {
				t.Fatalf("%v after the beginning %d are released, %.3f are allowed", now.Sub(epoch), out, allowed)
			}
			if next.NextAt.Before(now) || next.NextAt.After(now.Add(time.Second)) {
				t.Fatalf("looked at again at %v, now is %v", next.NextAt, now)
			}
		}
		now = now.Add(time.Hour) // the node was away
		s.ByPhase = []store.ReplayCount{n(0, pending, int64(1_000_000-out)), n(3, succeeded, int64(out))}
		if _, effects := deadletter.DecideReplay(s, now); float64(effects.Release) > rate+1+1e-3 {
			t.Fatalf("after an hour %d are released at once, at a rate of %v", effects.Release, rate)
		}
	})
}
