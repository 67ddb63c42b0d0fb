package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func queueLapse(d *letterDriver) {
	fresh := d.submit("fetch", 1)[0]
	ids := d.deadMany(1, slow)
	d.validated(ids...)
	d.replayed(1, ids...)
	first := d.claim(2)
	d.wait(workLease - time.Microsecond)
	if got := d.claim(2); len(got) > 0 {
		d.Errorf("claimed while it is held: %+v", got)
	}
	d.wait(time.Microsecond)
	again := d.claim(2)
	if len(again) != 2 || again[0].Lapses != 1 || again[0].Claims != 2 {
		d.Fatalf("claimed again: %+v", again)
	}
	for _, q := range first {
		if _, err := d.stepWork(q.WorkID, d.succeed(q.LeaseToken)); !errors.Is(err, errNo) {
			d.Errorf("the old token counts: %v", err)
		}
	}
	if err := d.store.SaveCheckpoint(d.Context(), first[0].LeaseToken, store.Checkpoint{WorkID: first[0].WorkID, Stage: "fetch", KeyID: "k", Sealed: []byte("x"), At: d.now}); !errors.Is(err, store.ErrLeaseLost) {
		d.Errorf("a checkpoint under the old token: %v", err)
	}
	d.ack(again)
	d.wantDestroyed(fresh)
}

func queueExtend(d *letterDriver) {
	work := d.submit("fetch", 1)[0]
	q := d.claim(1)[0]
	d.wait(5 * minute)
	extend := func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		if l.Queued.LeaseToken != q.LeaseToken {
			return l, store.StagedEffects{}, errNo
		}
		l.Queued.LeaseEndsAt = d.now.Add(workLease)
		l.Queued.DueAt = l.Queued.LeaseEndsAt
		return l, store.StagedEffects{}, nil
	}
	l, err := d.stepWork(work, extend)
	d.must(err)
	d.wait(9 * minute)
	if got := d.claim(1); len(got) > 0 {
		d.Errorf("claimed while it is held: %+v", got)
	}
	if got, err := d.store.StagedWork(d.Context(), work); err != nil || got != l {
		d.Errorf("stored is %+v, answered was %+v: %v", got, l, err)
	}
	d.wait(minute)
	d.ack(d.claim(1))
	if _, err := d.stepWork(work, extend); !errors.Is(err, errNo) {
		d.Errorf("extended when it is over: %v", err)
	}
}

func queueSpent(d *letterDriver) {
	ids := d.deadMany(1, slow)
	d.validated(ids...)
	replay := d.replayed(1, ids...)
	for range maxLapses + 1 {
		if got := d.claim(1); len(got) != 1 {
			d.Fatalf("claimed %+v", got)
		}
		d.wait(workLease)
	}
	if got := d.claim(1); len(got) > 0 {
		d.Errorf("claimed once more: %+v", got)
	}
	spent, err := d.store.SpentWork(d.Context(), 10)
	d.must(err)
	if len(spent) != 1 || spent[0].ErrorID != ids[0] || spent[0].Lapses != maxLapses+1 || !spent[0].DueAt.IsZero() {
		d.Fatalf("spent is %+v", spent)
	}
	lost := breakdown{Stage: "fetch", Class: "SERVICE_UNAVAILABLE", Signature: "worker lost"}
	l, err := d.stepWork(spent[0].WorkID, d.fail(spent[0].WorkID, lost))
	d.must(err)
	if l.Dead.Round != 2 {
		d.Errorf("it is %+v", l)
	}
	d.wantCounts(replay, store.ReplayCount{Phase: 1, State: recoup.ItemFailed, N: 1})
	if spent, err := d.store.SpentWork(d.Context(), 10); err != nil || len(spent) > 0 {
		d.Errorf("spent are %+v, %v", spent, err)
	}
}

func queueDead(d *letterDriver) {
	work := d.submit("fetch", 1)[0]
	q := d.claim(1)[0]
	d.must(d.store.SaveCheckpoint(d.Context(), q.LeaseToken, store.Checkpoint{WorkID: work, Stage: "fetch", KeyID: "k", Sealed: []byte("out"), At: d.now}))
	f := malformed
	f.Token = q.LeaseToken
	l, err := d.stepWork(work, d.fail(work, f))
	d.must(err)
	d.wantLetter(l)
	if p, err := d.store.Payload(d.Context(), work); err != nil || string(p.Sealed) != "in" {
		d.Errorf("the payload is %+v: %v", p, err)
	}
	if list, err := d.store.Checkpoints(d.Context(), work); err != nil || len(list) != 1 {
		d.Errorf("checkpoints %+v: %v", list, err)
	}
	if _, err := d.stepWork(work, d.enter(work, "fetch")); !errors.Is(err, errNo) {
		d.Errorf("a dead letter is submitted: %v", err)
	}
	// Also when the decision does not look.
	_, err = d.stepWork(work, func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		l.Queued = recoup.WorkItem{WorkID: work, Pipeline: criticizer, Stage: "llm", CreatedAt: d.now, DueAt: d.now}
		return l, store.StagedEffects{}, nil
	})
	if !errors.Is(err, store.ErrRefused) {
		d.Errorf("a dead letter that goes past its workflow is answered with %v", err)
	}
	d.wait(day)
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed %+v", got)
	}
}

func queuePause(d *letterDriver) {
	fresh := d.submit("fetch", 1)[0]
	late := d.submit("llm", 1)[0]
	ids := d.deadMany(1, slow)
	d.validated(ids...)
	d.replayed(1, ids...)
	replayed := d.read(ids[0]).Dead.WorkID
	for _, row := range []struct {
		pause recoup.PauseScope
		want  []recoup.ID
	}{
		{recoup.PauseScope{}, nil},
		{recoup.PauseScope{Pipeline: criticizer}, nil},
		{recoup.PauseScope{Pipeline: "other"}, []recoup.ID{fresh, late, replayed}},
		{recoup.PauseScope{Stage: "fetch"}, []recoup.ID{late}},
		{recoup.PauseScope{Pipeline: "other", Stage: "fetch"}, []recoup.ID{fresh, late, replayed}},
		{recoup.PauseScope{Class: slow.Class}, []recoup.ID{fresh, late}},
		{recoup.PauseScope{Class: slow.Class, Stage: "llm"}, []recoup.ID{fresh, late, replayed}},
		{recoup.PauseScope{Class: "OTHER", Pipeline: criticizer}, []recoup.ID{fresh, late, replayed}},
	} {
		p := recoup.WorkPause{PauseScope: row.pause, By: "ada", Reason: "the upstream is down", At: d.now, Until: d.now.Add(minute)}
		d.must(d.store.SetPause(d.Context(), p))
		d.must(d.store.SetPause(d.Context(), p))
		got := workIDs(d.claim(10))
		slices.SortFunc(got, func(a, b recoup.ID) int { return slices.Compare(a[:], b[:]) })
		want := slices.SortedFunc(slices.Values(row.want), func(a, b recoup.ID) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, want) {
			d.Errorf("paused %+v, claimed %d, want %d", row.pause, len(got), len(want))
		}
		if list, err := d.store.Pauses(d.Context(), d.now, nil); err != nil || !slices.Equal(list, []recoup.WorkPause{p}) {
			d.Errorf("paused is %+v, want %+v: %v", list, p, err)
		}
		if there, err := d.store.LiftPause(d.Context(), row.pause); err != nil || !there {
			d.Errorf("lifted %v: %v", there, err)
		}
		if there, err := d.store.LiftPause(d.Context(), row.pause); err != nil || there {
			d.Errorf("lifted twice: %v", err)
		}
		d.giveBack(got)
	}
	d.must(d.store.SetPause(d.Context(), recoup.WorkPause{By: "ada", Reason: "r", At: d.now, Until: d.now.Add(minute)}))
	d.wait(minute)
	if got := d.claim(10); len(got) != 3 {
		d.Errorf("when the pause is over %d are claimed", len(got))
	}
	if list, err := d.store.Pauses(d.Context(), d.now, nil); err != nil || len(list) > 0 {
		d.Errorf("paused is %+v: %v", list, err)
	}
}

// giveBack returns work to the queue as if it had not been claimed.
func (d *letterDriver) giveBack(works []recoup.ID) {
	d.Helper()
	for _, work := range works {
		_, err := d.stepWork(work, func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
			l.Queued.Lease, l.Queued.DueAt = recoup.Lease{}, d.now
			return l, store.StagedEffects{}, nil
		})
		d.must(err)
	}
}

func queueWakes(d *letterDriver) {
	ctx, cancel := context.WithCancel(d.Context())
	heard, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- d.store.Listen(ctx, func(kind string) {
			if kind == store.WakeWork {
				heard <- struct{}{}
			}
		})
	}()
	<-heard // everybody who begins to listen is woken once
	d.submit("fetch", 3)
	<-heard
	d.ack(d.claim(3))
	id := d.dead(slow).Dead.ErrorID
	d.validated(id)
	if len(heard) > 0 {
		d.Errorf("woken without work")
	}
	d.replayed(1, id)
	<-heard
	d.giveBack(workIDs(d.claim(1)))
	<-heard
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		d.Errorf("listening ended with %v", err)
	}
}

func queueAnew(d *letterDriver) {
	works := d.submit("fetch", 2)
	held := d.claim(2)
	for _, q := range held {
		for _, stage := range []string{"fetch", "llm"} {
			d.must(d.store.SaveCheckpoint(d.Context(), q.LeaseToken, store.Checkpoint{WorkID: q.WorkID, Stage: stage, KeyID: "k", Sealed: []byte(stage), At: d.now}))
		}
	}
	left := store.Checkpoint{WorkID: works[0], Stage: "~restart", KeyID: "none", Sealed: []byte("2"), At: d.now}
	_, err := d.stepWork(works[0], func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		return l, store.StagedEffects{Anew: left}, nil
	})
	d.must(err)
	want := func(work recoup.ID, stages ...string) {
		d.Helper()
		list, err := d.store.Checkpoints(d.Context(), work)
		d.must(err)
		var got []string
		for _, c := range list {
			got = append(got, c.Stage)
		}
		if !slices.Equal(got, stages) {
			d.Errorf("checkpoints of %v, want %v", got, stages)
		}
	}
	want(works[0], "~restart")
	want(works[1], "fetch", "llm")
	if err := d.store.ForgetCheckpoints(d.Context(), d.id(), works[1]); !errors.Is(err, store.ErrLeaseLost) {
		d.Errorf("forgotten under another token: %v", err)
	}
	d.must(d.store.ForgetCheckpoints(d.Context(), held[1].LeaseToken, works[1]))
	want(works[1])
	payloads, err := d.store.Payloads(d.Context(), append(works, d.id()))
	d.must(err)
	if len(payloads) != 2 || string(payloads[0].Sealed) != "in" {
		d.Errorf("payloads are %+v", payloads)
	}
}
