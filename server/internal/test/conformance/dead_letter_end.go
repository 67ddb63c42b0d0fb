package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func letterEnds() []letterClause {
	return []letterClause{
		{"archiving closes a dead letter and destroys its payload and checkpoints", letterArchive},
		{"an archive by the dead letter's own verb does the same", letterArchiveByStep},
		{"a purge of the archive takes what is left of a dead letter", letterPurge},
		{"the payload of work outlives a closed dead letter if there is an open one", letterPayloadShared},
		{"checkpoints are kept by stage, for the holder of the lease alone", letterCheckpoints},
		{"checkpoints of work that ended elsewhere are purged", letterOrphans},
	}
}

// wantDestroyed says that nothing is left of what work was about.
func (d *letterDriver) wantDestroyed(work recoup.ID) {
	d.Helper()
	if _, err := d.store.Payload(d.Context(), work); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("the payload is there: %v", err)
	}
	if list, err := d.store.Checkpoints(d.Context(), work); err != nil || len(list) > 0 {
		d.Errorf("checkpoints are there: %v, %v", list, err)
	}
	if _, err := d.store.StagedWork(d.Context(), work); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("the work is there: %v", err)
	}
}

// wantArchiveNote says that the last note has who archived the dead letter, and why.
func (d *letterDriver) wantArchiveNote(id recoup.ID) {
	d.Helper()
	notes := d.notes(recoup.Note{ErrorID: id})
	archived := slices.DeleteFunc(slices.Clone(notes), func(n recoup.Note) bool { return n.Step != recoup.NoteArchived })
	want := recoup.Note{ErrorID: id, Round: 1, Step: recoup.NoteArchived, Actor: "ada", At: d.now, Text: "enough"}
	if len(archived) != 1 || archived[0] != want || notes[len(notes)-1] != want {
		d.Errorf("its notes are %+v, want the last to be %+v", notes, want)
	}
}

func letterArchive(d *letterDriver) {
	f := slow
	f.Payload = []byte("sealed")
	kept := d.dead(f)
	for reason, in := range map[recoup.ArchiveReason]lifecycle.Input{
		recoup.ManualArchive: lifecycle.ArchiveNow{By: "ada", Reason: "enough"}, recoup.TTLExpired: lifecycle.Expire{},
	} {
		l := d.dead(f)
		d.must(d.store.SaveCheckpoint(d.Context(), recoup.ID{}, store.Checkpoint{
			WorkID: l.Dead.WorkID, Stage: "fetch", KeyID: "k1", Sealed: []byte("out"), At: d.now}))
		if reason == recoup.TTLExpired {
			d.now = l.Error.ExpiresAt
			d.must(d.store.EnsurePartitions(d.Context(), d.now))
		}
		d.must(d.apply(l.Dead.ErrorID, in))
		d.wantDestroyed(l.Dead.WorkID)
		if notes := d.notes(recoup.Note{ErrorID: l.Dead.ErrorID}); reason == recoup.ManualArchive {
			d.wantArchiveNote(l.Dead.ErrorID)
		} else if len(notes) > 0 {
			d.Errorf("what has expired has the notes %+v", notes)
		}
		got := d.read(l.Dead.ErrorID)
		if got.Error.ArchiveReason != reason || !got.Dead.ClosedAt.Equal(d.now) || got.Dead.Step != recoup.StepNew {
			d.Errorf("archived it is %+v", got)
		}
		if _, err := d.stepLetter(l.Dead.ErrorID, d.move(recoup.StepTriaged)); !errors.Is(err, store.ErrRefused) {
			d.Errorf("an archived dead letter is moved with %v", err)
		}
	}
	if _, err := d.store.Payload(d.Context(), kept.Dead.WorkID); err != nil {
		d.Errorf("the payload of another: %v", err)
	}
	g, err := d.store.Group(d.Context(), kept.Dead.GroupID)
	d.must(err)
	if g.Open != 1 || g.Total != 3 {
		d.Errorf("the group counts %+v", g)
	}
}

func letterArchiveByStep(d *letterDriver) {
	f := slow
	f.Payload = []byte("sealed")
	l := d.dead(f)
	d.validated(l.Dead.ErrorID)
	replay := d.replayed(1, l.Dead.ErrorID)
	d.claim(1)
	got, err := d.stepLetter(l.Dead.ErrorID, func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		e, effects, err := d.archiving(now)(&l.Error, 0, now)
		l.Error = e
		return l, store.StagedEffects{Effects: effects}, err
	})
	d.must(err)
	d.wantLetter(got)
	d.wantDestroyed(l.Dead.WorkID)
	d.wantArchiveNote(l.Dead.ErrorID)
	d.wantCounts(replay, store.ReplayCount{Phase: 1, State: recoup.ItemArchived, N: 1})
}

func letterPurge(d *letterDriver) {
	l, kept := d.dead(slow), d.dead(slow)
	d.validated(l.Dead.ErrorID, kept.Dead.ErrorID)
	d.must(d.apply(l.Dead.ErrorID, lifecycle.ArchiveNow{}))
	purge := d.read(l.Dead.ErrorID).Error.PurgeAt
	if n, err := d.store.PurgeArchive(d.Context(), purge, 10); err != nil || n != 1 {
		d.Fatalf("purged %d: %v", n, err)
	}
	if _, err := d.store.DeadLetter(d.Context(), l.Dead.ErrorID); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("a purged dead letter is answered with %v", err)
	}
	rounds, err := d.store.Rounds(d.Context(), l.Dead.ErrorID, 10)
	d.must(err)
	if notes := d.notes(recoup.Note{ErrorID: l.Dead.ErrorID}); len(rounds)+len(notes) > 0 {
		d.Errorf("left are %v and %v", rounds, notes)
	}
	if notes := d.notes(recoup.Note{ErrorID: kept.Dead.ErrorID}); len(notes) != 3 {
		d.Errorf("the other has %v", notes)
	}
}

func letterPayloadShared(d *letterDriver) {
	f := slow
	f.Payload = []byte("sealed")
	l := d.dead(f)
	d.validated(l.Dead.ErrorID)
	d.replayed(1, l.Dead.ErrorID)
	d.ack(d.claim(1))
	_, err := d.stepLetter(l.Dead.ErrorID, d.move(recoup.StepVerified))
	d.must(err)
	work := l.Dead.WorkID
	again, err := d.stepWork(work, d.fail(work, f)) // with a payload that is there already
	d.must(err)
	d.must(d.apply(l.Dead.ErrorID, lifecycle.ArchiveNow{}))
	if _, err := d.store.Payload(d.Context(), work); err != nil {
		d.Errorf("the payload of an open dead letter: %v", err)
	}
	d.must(d.apply(again.Dead.ErrorID, lifecycle.ArchiveNow{}))
	d.wantDestroyed(work)
}

func letterCheckpoints(d *letterDriver) {
	work := d.submit("fetch", 1)[0]
	save := func(token recoup.ID, stage, output string) error {
		return d.store.SaveCheckpoint(d.Context(), token, store.Checkpoint{WorkID: work, Stage: stage, KeyID: "k", Sealed: []byte(output), At: d.now})
	}
	for name, token := range map[string]recoup.ID{"no token": {}, "any token": d.id()} {
		if err := save(token, "fetch", "x"); !errors.Is(err, store.ErrLeaseLost) {
			d.Errorf("of work that nobody holds, with %s: %v", name, err)
		}
	}
	q := d.claim(1)[0]
	d.must(save(q.LeaseToken, "fetch", "one"))
	d.wait(time.Second)
	d.must(save(q.LeaseToken, "llm", "two"))
	d.must(save(q.LeaseToken, "llm", "two again"))
	for name, token := range map[string]recoup.ID{"no token": {}, "another token": d.id()} {
		if err := save(token, "notify", "x"); !errors.Is(err, store.ErrLeaseLost) {
			d.Errorf("with %s: %v", name, err)
		}
	}
	list, err := d.store.Checkpoints(d.Context(), work)
	d.must(err)
	if len(list) != 2 || string(list[0].Sealed) != "one" || list[0].Stage != "fetch" || string(list[1].Sealed) != "two again" || list[1].KeyID != "k" {
		d.Errorf("checkpoints %+v", list)
	}
	d.ack([]recoup.WorkItem{q})
	d.wantDestroyed(work)
}

func letterOrphans(d *letterDriver) {
	l, queued, loose := d.dead(slow), d.submit("fetch", 1)[0], d.id()
	q := d.claim(1)[0]
	for work, token := range map[recoup.ID]recoup.ID{l.Dead.WorkID: {}, queued: q.LeaseToken, loose: {}} {
		d.must(d.store.SaveCheckpoint(d.Context(), token, store.Checkpoint{WorkID: work, Stage: "fetch", KeyID: "k", Sealed: []byte("x"), At: d.now}))
	}
	if n, err := d.store.PurgeCheckpoints(d.Context(), d.now, 10); err != nil || n != 0 {
		d.Errorf("purged %d too early: %v", n, err)
	}
	if n, err := d.store.PurgeCheckpoints(d.Context(), d.now.Add(time.Second), 10); err != nil || n != 1 {
		d.Errorf("purged %d: %v", n, err)
	}
	for work, want := range map[recoup.ID]int{l.Dead.WorkID: 1, queued: 1, loose: 0} {
		if list, err := d.store.Checkpoints(d.Context(), work); err != nil || len(list) != want {
			d.Errorf("%d checkpoints, want %d: %v", len(list), want, err)
		}
	}
}
