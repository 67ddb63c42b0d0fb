package deadletter_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// flaky is a store whose keys or payloads cannot be read now and then.
type flaky struct {
	database
	keys     error
	payloads func() error
}

func (f *flaky) PlatformKeys(ctx context.Context, purpose string) ([]store.PlatformKey, error) {
	if f.keys != nil {
		return nil, f.keys
	}
	return f.database.PlatformKeys(ctx, purpose)
}

func (f *flaky) Payloads(ctx context.Context, works []recoup.ID) ([]store.Payload, error) {
	if f.payloads != nil {
		if err := f.payloads(); err != nil {
			return nil, err
		}
	}
	return f.database.Payloads(ctx, works)
}

// try claims what there is and returns how many that was, or why none.
func (w *world) try(ctx context.Context) (int, error) {
	list, err := w.Claim(ctx, engine.Caller{}, recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: pipeline, Stage: "fetch"}}, Worker: "w1", Limit: 10})
	return len(list), err
}

// A node that cannot read or open payloads puts the work back: it is nobody's fault,
// so it is no lost worker, however often it happens.
func TestClaimPutsBackWhatItCannotHandOver(t *testing.T) {
	everywhere(t, func(w *world) {
		db := &flaky{database: w.db}
		w = newWorld(w.T, db)
		w.submit("fetch", []byte("in"))
		down := errors.New("down")
		for _, row := range []struct {
			name string
			want error
			fail func(leave func()) error
		}{
			{"the payloads cannot be read", down, func(func()) error { return down }},
			{"the caller leaves", context.Canceled, func(leave func()) error { leave(); return context.Canceled }},
		} {
			for range 2 * deadletter.MaxLapses {
				ctx, leave := context.WithCancel(w.Context())
				db.payloads = func() error { return row.fail(leave) }
				if n, err := w.try(ctx); n != 0 || !errors.Is(err, row.want) {
					w.Fatalf("%s: claimed %d, %v", row.name, n, err)
				}
				leave()
				w.wait(2 * time.Minute) // longer than any lease and any pause
				w.advance()
			}
		}
		db.payloads = nil
		if got := w.claim(10); len(got) != 1 || string(got[0].Payload) != "in" || got[0].Lapses != 0 {
			w.Errorf("claimed %+v", got)
		}
	})
}

// Work whose key a node cannot open for now does not keep it from other work, and
// waits for a node that can.
func TestClaimPutsBackWhatItCannotOpen(t *testing.T) {
	everywhere(t, func(w *world) {
		db := &flaky{database: w.db}
		w = newWorld(w.T, db)
		old := w.submit("fetch", []byte("under the old key"))
		w.must(w.db.(*flaky).database.(interface {
			AddPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error
		}).AddPlatformKey(w.Context(), store.PlatformKey{ID: "p-new", Purpose: deadletter.KeyPurpose, Secret: make([]byte, 32)}, store.Act{By: ada, At: epoch.Add(time.Hour)}))
		ring, err := deadletter.NewKeyring(w.Context(), db.database, rand.Reader, epoch)
		w.must(err)
		other, err := deadletter.New(deadletter.Options{
			Store: db.database, Policies: engine.NewPolicies(policy.Default()), Codes: fault.Default, Keys: ring, Now: w.clock, Random: w.Random, IDs: w.ids,
		})
		w.must(err)
		done, err := other.Submit(w.Context(), engine.Caller{}, []recoup.NewWorkItem{{Pipeline: pipeline, Stage: "fetch", Payload: []byte("under the new one")}, {Pipeline: pipeline, Stage: "fetch"}}, nil)
		w.must(first(done, err))
		later := done[0].Letter.Queued.WorkID

		db.keys = errors.New("sealed by another master key")
		if got := w.claim(10); len(got) != 2 || got[0].WorkID != old || string(got[0].Payload) != "under the old key" || got[1].Payload != nil {
			w.Fatalf("claimed %+v", got)
		} else {
			w.say(got[0], deadletter.Succeeded)
			w.say(got[1], deadletter.Succeeded)
		}
		for range 2 * deadletter.MaxLapses {
			w.wait(2 * time.Minute)
			if n, err := w.try(w.Context()); n != 0 || !errors.Is(err, db.keys) {
				w.Fatalf("claimed %d, %v", n, err)
			}
			w.advance()
		}
		w.wait(2 * time.Minute)
		got, err := other.Claim(w.Context(), engine.Caller{}, recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: pipeline, Stage: "fetch"}}, Worker: "w2", Limit: 10})
		if err != nil || len(got) != 1 || got[0].WorkID != later || string(got[0].Payload) != "under the new one" || got[0].Lapses != 0 {
			w.Errorf("claimed %+v, %v", got, err)
		}
	})
}
