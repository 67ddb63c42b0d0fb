package conformance

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func letterModels() []letterClause {
	return []letterClause{
		{"any course of events leaves what a plain list of them says", letterModel},
	}
}

// letterPlan is one thing that happens to a small set of work.
type letterPlan struct {
	act  string
	pick int
}

// letterBook is what a plain reading of the rules says of every piece of work.
type letterBook struct {
	step    map[recoup.ID]recoup.WorkflowStep
	round   map[recoup.ID]int
	items   map[recoup.ID]recoup.ItemState // of the present replay
	leases  []recoup.WorkItem
	replay  recoup.ID
	running bool
}

func letterModel(d *letterDriver) {
	plan := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) letterPlan {
		return letterPlan{
			rapid.SampledFrom([]string{"record", "validate", "replay", "release", "claim", "succeed", "succeed", "fail", "verify", "archive", "cancel", "lapse"}).Draw(t, "act"),
			rapid.IntRange(0, 1000).Draw(t, "pick"),
		}
	}), 50, 50).Example(7)
	b := &letterBook{step: map[recoup.ID]recoup.WorkflowStep{}, round: map[recoup.ID]int{}, items: map[recoup.ID]recoup.ItemState{}}
	for _, p := range plan {
		d.wait(minute / 4)
		d.happens(b, p)
		d.agrees(b)
	}
}

// chosen picks one dead letter in a workflow state, or none.
func (b *letterBook) chosen(pick int, step recoup.WorkflowStep) (recoup.ID, bool) {
	var list []recoup.ID
	for id, s := range b.step {
		if s == step {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, func(a, b recoup.ID) int { return slices.Compare(a[:], b[:]) })
	if len(list) == 0 {
		return recoup.ID{}, false
	}
	return list[pick%len(list)], true
}

func (d *letterDriver) happens(b *letterBook, p letterPlan) {
	switch p.act {
	case "record":
		l := d.dead([]breakdown{slow, malformed}[p.pick%2])
		b.step[l.Dead.ErrorID], b.round[l.Dead.ErrorID] = recoup.StepNew, 1
	case "validate":
		if id, ok := b.chosen(p.pick, recoup.StepNew); ok {
			d.validated(id)
			b.step[id] = recoup.StepValidated
		}
	case "verify":
		if id, ok := b.chosen(p.pick, recoup.StepReplayed); ok {
			_, err := d.stepLetter(id, d.move(recoup.StepVerified))
			d.must(err)
			b.step[id] = recoup.StepVerified
		}
	case "archive":
		steps := []recoup.WorkflowStep{recoup.StepNew, recoup.StepReplaying, recoup.StepValidated, recoup.StepReplayed}
		if id, ok := b.chosen(p.pick, steps[p.pick%4]); ok {
			d.must(d.apply(id, lifecycle.ArchiveNow{By: "ada"}))
			delete(b.step, id)
			if b.items[id].Open() {
				b.items[id] = recoup.ItemArchived
			}
			b.leases = slices.DeleteFunc(b.leases, func(q recoup.WorkItem) bool { return q.ErrorID == id })
		}
	case "replay":
		d.modelReplay(b)
	default:
		d.modelWork(b, p)
	}
}

// modelReplay begins a replay of all that is validated, if none is under way.
func (d *letterDriver) modelReplay(b *letterBook) {
	if b.running {
		return
	}
	var ids []recoup.ID
	for id, step := range b.step {
		if step == recoup.StepValidated {
			ids = append(ids, id)
			b.step[id] = recoup.StepReplaying
		}
	}
	b.replay, b.running, b.items = d.replayed(0, ids...), true, map[recoup.ID]recoup.ItemState{}
	for _, id := range ids {
		b.items[id] = recoup.ItemPending
	}
}

// modelWork is what happens to a replay that is under way.
func (d *letterDriver) modelWork(b *letterBook, p letterPlan) {
	if !b.running {
		return
	}
	switch p.act {
	case "release":
		d.steps(b.replay, d.to(recoup.ReplayRunning, 1+p.pick%3))
		for _, item := range d.items(b.replay, recoup.ItemReleased) {
			b.items[item.ErrorID] = recoup.ItemReleased
		}
	case "claim":
		b.leases = append(b.leases, d.claim(1+p.pick%2)...)
	case "lapse":
		d.wait(workLease)
		b.leases = d.claim(sqldb.MaxPage)
	case "succeed", "fail":
		if len(b.leases) > 0 {
			d.modelResult(b, p)
		}
	case "cancel":
		d.steps(b.replay, d.to(recoup.ReplayCancelling, 0))
		d.wait(workLease) // whoever holds something is lost
		for id, state := range b.items {
			if state.Open() {
				b.items[id], b.step[id] = recoup.ItemCancelled, recoup.StepValidated
			}
		}
		_, err := d.store.EndItems(d.Context(), d.now, b.replay, sqldb.MaxPage, d.cancel())
		d.must(err)
		d.steps(b.replay, d.to(recoup.ReplayCancelled, 0))
		b.running, b.leases = false, nil
	}
}

func (d *letterDriver) modelResult(b *letterBook, p letterPlan) {
	q := b.leases[p.pick%len(b.leases)]
	b.leases = slices.DeleteFunc(b.leases, func(o recoup.WorkItem) bool { return o.WorkID == q.WorkID })
	if p.act == "succeed" {
		d.ack([]recoup.WorkItem{q})
		b.items[q.ErrorID], b.step[q.ErrorID] = recoup.ItemSucceeded, recoup.StepReplayed
		return
	}
	f := []breakdown{slow, malformed}[p.pick%2]
	f.Token = q.LeaseToken
	_, err := d.stepWork(q.WorkID, d.fail(q.WorkID, f))
	d.must(err)
	b.items[q.ErrorID], b.step[q.ErrorID] = recoup.ItemFailed, recoup.StepNew
	if f.Class == q.Class {
		b.items[q.ErrorID] = recoup.ItemRepeated
	}
	b.round[q.ErrorID]++
}

// agrees compares what is stored with the book.
func (d *letterDriver) agrees(b *letterBook) {
	d.Helper()
	open, levels := 0, map[recoup.WorkflowStep]int64{}
	for id, step := range b.step {
		l := d.read(id)
		if l.Dead.Step != step || l.Dead.Round != b.round[id] || l.Item.State != "" && l.Item.State != b.items[id] {
			d.Fatalf("%v is %+v, want %s in round %d", id, l.Dead, step, b.round[id])
		}
		if l.Dead.Open() {
			open++
			levels[step]++
		}
	}
	d.wantLevels(levels)
	if n := len(d.walkLetters(store.DeadLetterFilter{})); n != open {
		d.Fatalf("%d are open, want %d", n, open)
	}
	groups, _, err := d.store.Groups(d.Context(), store.GroupFilter{}, sqldb.Page{})
	d.must(err)
	for _, g := range groups {
		open -= int(g.Open)
	}
	if open != 0 {
		d.Fatalf("the groups %+v are off by %d", groups, open)
	}
	if b.replay.IsZero() {
		return
	}
	s, err := d.store.Replay(d.Context(), b.replay)
	d.must(err)
	want := map[recoup.ItemState]int64{}
	for state := range maps.Values(b.items) {
		want[state]++
	}
	got := map[recoup.ItemState]int64{}
	for _, c := range s.ByPhase {
		got[c.State] += c.N
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.Fatalf("the replay counts %v, want %v", got, want)
	}
}
