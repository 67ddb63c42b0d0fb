package conformance

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func letterFigures() []letterClause {
	return []letterClause{
		{"figures count open dead letters by workflow state, and say since when one waits", figuresOfLetters},
		{"figures count what of the queue can be claimed, is held, and was lost, lane by lane", figuresOfWork},
		{"of many lanes figures list the largest, and the others together", figuresOfLanes},
		{"figures count replays by state and items by outcome, also of those that are purged", figuresOfReplays},
		{"what a change of a replay notifies of is in its commit, and once", replayNotifies},
	}
}

func (d *letterDriver) figures() store.StagedFigures {
	d.Helper()
	f, err := d.store.StagedFigures(d.Context(), d.now)
	d.must(err)
	return f
}

// wantLevels says how many open dead letters there are in each workflow state, also when
// the counts are folded.
func (d *letterDriver) wantLevels(want map[recoup.WorkflowStep]int64) {
	d.Helper()
	for range 2 {
		got := map[recoup.WorkflowStep]int64{}
		for _, l := range d.figures().Letters {
			if l.N <= 0 {
				d.Errorf("%+v counts nothing", l)
			}
			got[l.Step] += l.N
		}
		if !maps.Equal(got, want) {
			d.Fatalf("the levels are %v, want %v", got, want)
		}
		d.must(d.store.FoldDeadLetterCounts(d.Context()))
	}
}

func figuresOfLetters(d *letterDriver) {
	if f := d.figures(); len(f.Letters)+len(f.Lanes)+len(f.Items) > 0 || !f.Waiting.IsZero() {
		d.Errorf("of nothing it tells %+v", f)
	}
	ids := d.deadMany(3, slow)
	first := d.now
	d.wait(minute)
	later := d.dead(malformed)
	second := d.now
	if f := d.figures(); !f.Waiting.Equal(first) || !slices.Equal(f.Letters, []store.DeadLetterLevel{
		{Pipeline: criticizer, Class: slow.Class, Step: recoup.StepNew, N: 3}, {Pipeline: criticizer, Class: malformed.Class, Step: recoup.StepNew, N: 1}}) {
		d.Errorf("figures are %+v", f)
	}
	d.wait(minute)
	d.validated(ids[:2]...)
	d.must(d.apply(ids[2], lifecycle.ArchiveNow{By: "ada"}))
	if f := d.figures(); !f.Waiting.Equal(second) {
		d.Errorf("the oldest waits since %s, want %s", f.Waiting, second)
	}
	d.wantLevels(map[recoup.WorkflowStep]int64{recoup.StepValidated: 2, recoup.StepNew: 1})

	// A round that fails with another class is counted there, and waits anew.
	d.replayed(1, ids[0])
	q := d.claim(1)[0]
	_, err := d.stepWork(q.WorkID, d.fail(q.WorkID, breakdown{Stage: "llm", Class: malformed.Class, Token: q.LeaseToken}))
	d.must(err)
	_, err = d.stepLetter(later.Dead.ErrorID, d.move(recoup.StepTriaged))
	d.must(err)
	if f := d.figures(); !f.Waiting.Equal(d.now) || !slices.Equal(f.Letters, []store.DeadLetterLevel{
		{Pipeline: criticizer, Class: slow.Class, Step: recoup.StepValidated, N: 1},
		{Pipeline: criticizer, Class: malformed.Class, Step: recoup.StepNew, N: 1},
		{Pipeline: criticizer, Class: malformed.Class, Step: recoup.StepTriaged, N: 1}}) {
		d.Errorf("figures are %+v", f)
	}
}

func figuresOfWork(d *letterDriver) {
	d.submit("fetch", 5)
	d.submit("llm", 2)
	d.claim(3)
	d.wait(workLease)
	d.submit("llm", 1)
	works := d.submit("notify", 2)
	_, err := d.stepWork(works[0], func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		l.Queued.DueAt = l.Queued.DueAt.Add(time.Hour)
		return l, store.StagedEffects{}, nil
	})
	d.must(err)
	if _, err := d.tryClaim("w2", 1, recoup.Lane{Pipeline: criticizer, Stage: "llm"}); err != nil {
		d.Fatal(err)
	}
	want := []store.LaneLevel{
		{Lane: recoup.Lane{Pipeline: criticizer, Stage: "fetch"}, Due: 2, Lapsed: 3},
		{Lane: recoup.Lane{Pipeline: criticizer, Stage: "llm"}, Due: 2, Leased: 1},
		{Lane: recoup.Lane{Pipeline: criticizer, Stage: "notify"}, Due: 1, Delayed: 1},
	}
	if got := d.figures().Lanes; !slices.Equal(got, want) {
		d.Errorf("the lanes are\n%+v, want\n%+v", got, want)
	}
}

// figuresOfLanes has more lanes than are listed: the largest, which is the last by its
// name, is, and the others are counted together.
func figuresOfLanes(d *letterDriver) {
	const lanes = store.MaxLanes + 10
	for i := range lanes {
		d.submit(fmt.Sprintf("s%03d", i), 1)
	}
	d.submit("z", 7)
	f := d.figures()
	if len(f.Lanes) != store.MaxLanes || f.Lanes[0].Stage != "s000" || f.Lanes[len(f.Lanes)-1] != (store.LaneLevel{Lane: recoup.Lane{Pipeline: criticizer, Stage: "z"}, Due: 7}) {
		d.Errorf("the lanes are %+v", f.Lanes)
	}
	if want := (store.LaneLevel{Due: lanes - store.MaxLanes + 1}); f.Others != want {
		d.Errorf("the others are %+v, want %+v", f.Others, want)
	}
	for i := lanes; i < store.MaxLaneWalk+5; i++ {
		d.submit(fmt.Sprintf("s%03d", i), 1)
	}
	if f := d.figures(); len(f.Lanes) != store.MaxLanes || f.Others.Due != store.MaxLaneWalk+5-store.MaxLanes+7 {
		d.Errorf("of more than are looked at, others are %+v", f.Others)
	}
}

func figuresOfReplays(d *letterDriver) {
	ids := d.deadMany(4, slow)
	d.validated(ids...)
	d.replayOf()
	replay := d.replayed(3, ids...)
	held := d.claim(3)
	d.ack(held[:2])
	_, err := d.stepWork(held[2].WorkID, d.fail(held[2].WorkID, breakdown{Stage: "fetch", Class: slow.Class, Token: held[2].LeaseToken}))
	d.must(err)
	d.steps(replay, d.to(recoup.ReplayCancelling, 0))
	d.end(replay, 10, 1)
	d.steps(replay, d.to(recoup.ReplayCancelled, 0))
	check := func(replays map[recoup.ReplayState]int64) {
		d.Helper()
		f := d.figures()
		maps.DeleteFunc(f.Replays, func(_ recoup.ReplayState, n int64) bool { return n == 0 })
		items := map[recoup.ItemState]int64{recoup.ItemSucceeded: 2, recoup.ItemRepeated: 1, recoup.ItemCancelled: 1}
		if !maps.Equal(f.Replays, replays) || !maps.Equal(f.Items, items) {
			d.Errorf("replays are %v and items %v, want %v and %v", f.Replays, f.Items, replays, items)
		}
	}
	check(map[recoup.ReplayState]int64{recoup.ReplayCollecting: 1, recoup.ReplayCancelled: 1})
	d.must(d.store.FoldDeadLetterCounts(d.Context()))
	d.wait(minute)
	if _, err := d.store.PurgeReplays(d.Context(), d.now, 10); err != nil {
		d.Fatal(err)
	}
	check(map[recoup.ReplayState]int64{recoup.ReplayCollecting: 1})
}

func replayNotifies(d *letterDriver) {
	r := d.replayOf()
	pending := func() (got []string) {
		list, err := d.store.PendingNotices(d.Context(), 10)
		d.must(err)
		for _, n := range list {
			got = append(got, fmt.Sprint(n.Kind, n.To, n.Key, n.Body, n.ErrorID.IsZero()))
		}
		return got
	}
	notify := func(refuse error) store.DecideReplay {
		return func(s store.ReplayStatus, _ time.Time) (recoup.Replay, store.ReplayEffects, error) {
			return s.Replay, store.ReplayEffects{Notices: []wire.Notice{{
				Kind: wire.NoticeReplayStopped, To: "team", Key: "replay:1", Body: `{"why": "x"}`}}}, refuse
		}
	}
	if _, err := d.store.StepReplay(d.Context(), d.now, r.ID, notify(errNo)); err == nil || pending() != nil {
		d.Errorf("a step that is refused tells %v", pending())
	}
	d.steps(r.ID, notify(nil))
	d.steps(r.ID, notify(nil))
	if got := pending(); len(got) != 1 || got[0] != fmt.Sprint(wire.NoticeReplayStopped, "team", "replay:1", `{"why": "x"}`, true) {
		d.Errorf("notified is %v", got)
	}
}
