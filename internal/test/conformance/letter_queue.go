package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	"recoup"
	"recoup/internal/store"
)

func letterQueue() []letterClause {
	return []letterClause{
		{"work is submitted once, claimed by lane, the longest due first, and done", queueWork},
		{"work goes from stage to stage through the queue", queueStages},
		{"a lease that ran out is claimed again, and the old token is refused", queueLapse},
		{"a lease is extended by its holder", queueExtend},
		{"work over which too many workers were lost is set aside", queueSpent},
		{"new work that fails for good is a dead letter and leaves the queue", queueDead},
		{"a pause of a pipeline, a stage or a class holds back what it names, until its end", queuePause},
		{"work that begins anew keeps of its checkpoints only the one that says so", queueAnew},
		{"whoever waits for work is woken when there is some", queueWakes},
	}
}

// submit puts new work into the queue.
func (d *letterDriver) submit(stage string, n int) []recoup.ID {
	d.Helper()
	works := make([]recoup.ID, n)
	steps := make([]store.LetterStep, n)
	for i := range works {
		works[i] = d.id()
		steps[i] = store.LetterStep{WorkID: works[i], Decide: d.enter(works[i], stage)}
	}
	outcomes, err := d.store.StepLetters(d.Context(), d.now, steps)
	d.must(err)
	for _, out := range outcomes {
		d.must(out.Err)
	}
	return works
}

func (d *letterDriver) enter(work recoup.ID, stage string) store.DecideLetter {
	now := d.now
	return func(l store.Letter, _ time.Time) (store.Letter, store.LetterEffects, error) {
		if !l.Queued.WorkID.IsZero() || l.Dead.Open() {
			return l, store.LetterEffects{}, errNo
		}
		l.Queued = store.QueuedWork{WorkID: work, Pipeline: criticizer, Stage: stage, PayloadRef: "ref", PayloadHash: "hash", CreatedAt: now, DueAt: now}
		return l, store.LetterEffects{Payload: store.Payload{WorkID: work, KeyID: "k1", Sealed: []byte("in"), At: now}}, nil
	}
}

// claim claims up to n pieces of work of every stage.
func (d *letterDriver) claim(n int) []store.QueuedWork {
	d.Helper()
	list, err := d.tryClaim("w1", n, store.Lane{Pipeline: criticizer, Stage: "fetch"}, store.Lane{Pipeline: criticizer, Stage: "llm"})
	d.must(err)
	return list
}

func (d *letterDriver) tryClaim(worker string, n int, lanes ...store.Lane) ([]store.QueuedWork, error) {
	now := d.now
	return d.store.ClaimWork(d.Context(), store.WorkClaim{Lanes: lanes, Limit: n, Now: now, Decide: func(q store.QueuedWork, _ time.Time) (store.QueuedWork, error) {
		switch {
		case q.Leased(now) || q.DueAt.After(now):
			return q, errNo
		case q.Lapsed(now):
			q.Lapses++
		}
		if q.Lapses > maxLapses {
			q.Lease, q.DueAt = recoup.Lease{}, time.Time{}
			return q, nil
		}
		q.Lease = recoup.Lease{LeaseToken: d.ids.New(now), LeaseWorker: worker, LeasedAt: now, LeaseEndsAt: now.Add(workLease)}
		q.DueAt = q.LeaseEndsAt
		q.Claims++
		return q, nil
	}})
}

// succeed says that work is done: of a replay, its dead letter waits to be
// verified; else nothing is left of it.
func (d *letterDriver) succeed(token recoup.ID) store.DecideLetter {
	now := d.now
	return func(l store.Letter, _ time.Time) (store.Letter, store.LetterEffects, error) {
		if l.Queued.LeaseToken.IsZero() || l.Queued.LeaseToken != token {
			return l, store.LetterEffects{}, errNo
		}
		if !l.Dead.Open() {
			l.Queued = store.QueuedWork{}
			return l, store.LetterEffects{Forget: true}, nil
		}
		effects := store.LetterEffects{Effects: touch(&l.Error, "succeed", now)}
		l.Item.State, l.Item.EndedAt, l.Item.Worker = store.ItemSucceeded, now, l.Queued.LeaseWorker
		l.Queued = store.QueuedWork{}
		l.Dead.Step, l.Dead.UpdatedAt = store.StepReplayed, now
		l.Error.ExpiresAt, l.Dead.HeldExpiry = l.Dead.HeldExpiry, time.Time{}
		return l, effects, nil
	}
}

// ack says that work is done.
func (d *letterDriver) ack(list []store.QueuedWork) {
	d.Helper()
	d.must(d.tryAck(list))
}

func (d *letterDriver) tryAck(list []store.QueuedWork) error {
	steps := make([]store.LetterStep, len(list))
	for i, q := range list {
		steps[i] = store.LetterStep{WorkID: q.WorkID, Decide: d.succeed(q.LeaseToken)}
	}
	outcomes, err := d.store.StepLetters(d.Context(), d.now, steps)
	for _, out := range outcomes {
		err = errors.Join(err, out.Err)
	}
	return err
}

func workIDs(list []store.QueuedWork) []recoup.ID {
	ids := make([]recoup.ID, len(list))
	for i := range list {
		ids[i] = list[i].WorkID
	}
	return ids
}

func queueWork(d *letterDriver) {
	var works []recoup.ID
	for range 6 {
		works = append(works, d.submit("fetch", 1)...)
		d.wait(time.Second)
	}
	other := d.submit("notify", 1)[0]
	if _, err := d.stepWork(works[0], d.enter(works[0], "fetch")); !errors.Is(err, errNo) {
		d.Errorf("submitted twice: %v", err)
	}
	first := d.claim(2)
	if got := workIDs(first); !slices.Equal(got, works[:2]) {
		d.Errorf("claimed %v, want %v", got, works[:2])
	}
	l, err := d.store.WorkLetter(d.Context(), works[0])
	d.must(err)
	if l != (store.Letter{Queued: first[0]}) || first[0].PayloadRef != "ref" || first[0].LeaseWorker != "w1" {
		d.Errorf("claimed %+v, stored is %+v", first[0], l)
	}
	if p, err := d.store.Payload(d.Context(), works[0]); err != nil || string(p.Sealed) != "in" {
		d.Errorf("payload %+v: %v", p, err)
	}
	if got := workIDs(d.claim(100)); !slices.Equal(got, works[2:]) {
		d.Errorf("claimed %v, want %v", got, works[2:])
	}
	d.ack(first)
	d.wantDestroyed(works[0])
	got, err := d.tryClaim("w1", 10, store.Lane{Pipeline: criticizer, Stage: "notify"}, store.Lane{Pipeline: "other", Stage: "fetch"})
	d.must(err)
	if !slices.Equal(workIDs(got), []recoup.ID{other}) {
		d.Errorf("claimed %+v", got)
	}
	for name, n := range map[string]int{"none": len(d.claim(0)), "again": len(d.claim(10))} {
		if n > 0 {
			d.Errorf("%s: claimed %d", name, n)
		}
	}
}

func queueStages(d *letterDriver) {
	work := d.submit("fetch", 1)[0]
	q := d.claim(1)[0]
	_, err := d.stepWork(work, func(l store.Letter, _ time.Time) (store.Letter, store.LetterEffects, error) {
		l.Queued.Stage, l.Queued.DueAt, l.Queued.Lease = "llm", d.now, recoup.Lease{}
		return l, store.LetterEffects{}, nil
	})
	d.must(err)
	if _, err := d.stepWork(work, d.succeed(q.LeaseToken)); !errors.Is(err, errNo) {
		d.Errorf("the lease of the stage before counts: %v", err)
	}
	got, err := d.tryClaim("w2", 10, store.Lane{Pipeline: criticizer, Stage: "fetch"})
	d.must(err)
	if len(got) > 0 {
		d.Errorf("claimed %+v", got)
	}
	got, err = d.tryClaim("w2", 10, store.Lane{Pipeline: criticizer, Stage: "llm"})
	d.must(err)
	if len(got) != 1 || got[0].Claims != 2 || got[0].LeaseWorker != "w2" {
		d.Errorf("claimed %+v", got)
	}
}

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
	extend := func(l store.Letter, _ time.Time) (store.Letter, store.LetterEffects, error) {
		if l.Queued.LeaseToken != q.LeaseToken {
			return l, store.LetterEffects{}, errNo
		}
		l.Queued.LeaseEndsAt = d.now.Add(workLease)
		l.Queued.DueAt = l.Queued.LeaseEndsAt
		return l, store.LetterEffects{}, nil
	}
	l, err := d.stepWork(work, extend)
	d.must(err)
	d.wait(9 * minute)
	if got := d.claim(1); len(got) > 0 {
		d.Errorf("claimed while it is held: %+v", got)
	}
	if got, err := d.store.WorkLetter(d.Context(), work); err != nil || got != l {
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
	d.wantCounts(replay, store.ReplayCount{Phase: 1, State: store.ItemFailed, N: 1})
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
	_, err = d.stepWork(work, func(l store.Letter, _ time.Time) (store.Letter, store.LetterEffects, error) {
		l.Queued = store.QueuedWork{WorkID: work, Pipeline: criticizer, Stage: "llm", CreatedAt: d.now, DueAt: d.now}
		return l, store.LetterEffects{}, nil
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
		pause store.Pause
		want  []recoup.ID
	}{
		{store.Pause{}, nil},
		{store.Pause{Pipeline: criticizer}, nil},
		{store.Pause{Pipeline: "other"}, []recoup.ID{fresh, late, replayed}},
		{store.Pause{Stage: "fetch"}, []recoup.ID{late}},
		{store.Pause{Pipeline: "other", Stage: "fetch"}, []recoup.ID{fresh, late, replayed}},
		{store.Pause{Class: slow.Class}, []recoup.ID{fresh, late}},
		{store.Pause{Class: slow.Class, Stage: "llm"}, []recoup.ID{fresh, late, replayed}},
		{store.Pause{Class: "OTHER", Pipeline: criticizer}, []recoup.ID{fresh, late, replayed}},
	} {
		p := row.pause
		p.By, p.Reason, p.At, p.Until = "ada", "the upstream is down", d.now, d.now.Add(minute)
		d.must(d.store.SetPause(d.Context(), p))
		d.must(d.store.SetPause(d.Context(), p))
		got := workIDs(d.claim(10))
		slices.SortFunc(got, func(a, b recoup.ID) int { return slices.Compare(a[:], b[:]) })
		want := slices.SortedFunc(slices.Values(row.want), func(a, b recoup.ID) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, want) {
			d.Errorf("paused %+v, claimed %d, want %d", row.pause, len(got), len(want))
		}
		if list, err := d.store.Pauses(d.Context(), d.now, nil); err != nil || !slices.Equal(list, []store.Pause{p}) {
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
	d.must(d.store.SetPause(d.Context(), store.Pause{By: "ada", Reason: "r", At: d.now, Until: d.now.Add(minute)}))
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
		_, err := d.stepWork(work, func(l store.Letter, _ time.Time) (store.Letter, store.LetterEffects, error) {
			l.Queued.Lease, l.Queued.DueAt = recoup.Lease{}, d.now
			return l, store.LetterEffects{}, nil
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
	_, err := d.stepWork(works[0], func(l store.Letter, _ time.Time) (store.Letter, store.LetterEffects, error) {
		return l, store.LetterEffects{Anew: left}, nil
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
