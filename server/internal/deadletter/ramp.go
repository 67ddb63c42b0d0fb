package deadletter

import (
	"fmt"
	"math"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// A replay is released in a ramp of three stages: a canary, a share of all, and the
// rest. Each stage waits for the results of its items. Results are counted by phase,
// and phases go on counting: a ramp that is begun again after the replay has stopped
// itself has the next three.
const (
	rampCanary = iota
	rampShare
	rampRest
	rampStages
)

// rampStage is the ramp stage of a phase.
func rampStage(phase int) int { return (max(phase, 1) - 1) % rampStages }

// firstPhase is the phase with which a ramp begins that follows a phase.
func firstPhase(plan recoup.ReplayPlan, after int) int {
	begun := (after + rampStages - 1) / rampStages * rampStages // the phases of ramps before
	if plan.Canary == 0 {
		return begun + rampRest + 1
	}
	return begun + rampCanary + 1
}

// RampStage is the name of the ramp stage that a replay is in.
func RampStage(r *recoup.Replay) string {
	if r.Phase == 0 {
		return ""
	}
	return [rampStages]string{"canary", "share", "rest"}[rampStage(r.Phase)]
}

// stageSize is how many items a ramp stage releases at most.
func stageSize(r *recoup.Replay) int {
	switch rampStage(r.Phase) {
	case rampCanary:
		return r.Plan.Canary
	case rampShare:
		return int(math.Ceil(r.Plan.Share * float64(r.Members)))
	}
	return math.MaxInt
}

// tally is where the items of a replay stand, in all and of the present phase.
type tally struct {
	pending, out int // not released yet; released and without a result

	released, waiting int // of the phase: all that it released, and those without a result
	failed, repeated  int // of the phase: with whatever class, and with the one they had before
}

func count(s *store.ReplayStatus) (t tally) {
	for _, c := range s.ByPhase {
		n := int(c.N)
		switch c.State {
		case recoup.ItemPending:
			t.pending += n
		case recoup.ItemReleased:
			t.out += n
		}
		if c.Phase != s.Phase || c.Phase == 0 {
			continue
		}
		t.released += n
		switch c.State {
		case recoup.ItemReleased:
			t.waiting += n
		case recoup.ItemFailed:
			t.failed += n
		case recoup.ItemRepeated:
			t.failed += n
			t.repeated += n
		}
	}
	return t
}

// fewSamples is the least number of results that a share of failures is judged by,
// unless the ramp stage has fewer.
const fewSamples = 20

// trouble says why a replay stops by itself; empty: it goes on.
func trouble(r *recoup.Replay, t tally) string {
	ended := t.released - t.waiting
	judged := max(ended, min(fewSamples, stageSize(r), t.released+t.pending))
	switch {
	case t.repeated > 0:
		return fmt.Sprintf("the same class came back: %d of %d results of the ramp stage %s", t.repeated, ended, RampStage(r))
	case float64(t.failed) > r.Plan.Limit*float64(judged):
		return fmt.Sprintf("too many failures: %d of %d results of the ramp stage %s", t.failed, ended, RampStage(r))
	}
	return ""
}

// burst is how long the clock may be ahead of what was released: a replay that
// could not go on, because results were missing or the node was away, does not
// make up for more than this at once.
const burst = time.Second

// pace returns how many items the rate allows now, and when it allows the next.
// The n-th item of a phase is due n/rate after its beginning; what cannot be made
// up for moves the beginning.
func pace(r *recoup.Replay, released int, now time.Time) (due int, next time.Time) {
	ahead := max(now.Sub(r.PhaseAt), 0).Seconds()*r.Plan.Rate + 1 - float64(released)
	if most := burst.Seconds()*r.Plan.Rate + 1; ahead > most {
		ahead = most
		r.PhaseAt = beginning(r.Plan.Rate, float64(released)+most-1, now)
	}
	due = max(int(math.Floor(ahead+1e-6)), 0)
	after := float64(released+due) / r.Plan.Rate
	return due, r.PhaseAt.Add(time.Duration(math.Ceil(after*1e6)) * time.Microsecond)
}

// beginning is when a phase began of which n items are due by now.
func beginning(rate, n float64, now time.Time) time.Time {
	return now.Add(-time.Duration(n / rate * float64(time.Second))).Truncate(time.Microsecond)
}

// DecideReplay decides how a replay goes on: what it releases, and when it is due
// again. It ends the replay, stops it on failures, and enters the next ramp stage once
// all results of the last are there. However often it is called, it releases no more
// than the rate allows. A replay that is not running is left alone.
func DecideReplay(s store.ReplayStatus, now time.Time) (recoup.Replay, store.ReplayEffects) {
	r, t := s.Replay, count(&s)
	if r.State != recoup.ReplayRunning {
		return r, store.ReplayEffects{}
	}
	if t.pending+t.out == 0 {
		return changed(r, recoup.ReplayDone, recoup.System, "", now)
	}
	if why := trouble(&r, t); why != "" {
		return changed(r, recoup.ReplayPaused, recoup.System, why, now)
	}
	if t.waiting == 0 && t.released >= stageSize(&r) && rampStage(r.Phase) < rampRest {
		r.Phase, r.PhaseAt = r.Phase+1, now
		t.released = 0
	}
	due, next := pace(&r, t.released, now)
	room := max(r.Plan.Concurrency-t.out, 0)
	release := min(due, t.pending, room, stageSize(&r)-t.released, sqldb.MaxPage)
	r.NextAt = now.Add(look)
	switch {
	case release == sqldb.MaxPage && release < due:
		r.NextAt = now // one release takes no more
	case release == due && next.Before(r.NextAt):
		r.NextAt = next
	case release == room:
		r.NextAt = now.Add(pollInterval)
	}
	return r, store.ReplayEffects{Release: release}
}

// pollInterval is how soon a replay is looked at again that could go faster, did its
// results come faster.
const pollInterval = 200 * time.Millisecond

// changed moves a replay to another state, with a note that says who and why.
func changed(r recoup.Replay, to recoup.ReplayState, by, why string, now time.Time) (recoup.Replay, store.ReplayEffects) {
	r.State, r.StateAt, r.StateBy, r.Why, r.NextAt = to, now, by, why, time.Time{}
	if to.Over() {
		r.EndedAt = now
	}
	return r, store.ReplayEffects{Notes: []recoup.Note{{ReplayID: r.ID, Step: recoup.WorkflowStep(to), Actor: by, At: now, Text: why}}}
}

// begin lets a replay run whose members are fixed. It says how many of those that its
// preview has shown are not among them.
func begin(r recoup.Replay, shown int, now time.Time) (recoup.Replay, store.ReplayEffects) {
	if r.Members == 0 {
		return changed(r, recoup.ReplayDone, recoup.System, "nothing could be replayed", now)
	}
	why := ""
	if left := shown - r.Members; left > 0 {
		why = fmt.Sprintf("%d of %d have changed since the preview and are left out", left, shown)
	}
	r, effects := changed(r, recoup.ReplayRunning, recoup.System, why, now)
	r.StartedAt, r.Phase, r.PhaseAt, r.NextAt = now, firstPhase(r.Plan, 0), now, now
	return r, effects
}

// resume lets a paused replay go on: where it stood, or, if it has stopped itself,
// with a ramp from the beginning.
func resume(s store.ReplayStatus, by, why string, now time.Time) (recoup.Replay, store.ReplayEffects) {
	stopped := s.StateBy == recoup.System
	r, effects := changed(s.Replay, recoup.ReplayRunning, by, why, now)
	r.PhaseAt, r.NextAt = beginning(r.Plan.Rate, float64(count(&s).released), now), now
	if stopped {
		r.Phase, r.PhaseAt = firstPhase(r.Plan, r.Phase), now
	}
	return r, effects
}
