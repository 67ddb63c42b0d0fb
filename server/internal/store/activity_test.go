package store_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// scene is an error in the course of a test, of which one transition counts.
type scene struct {
	*testing.T
	*world
	work  *store.UnitOfWork
	error recoup.Error
	table string
	all   []store.Activity // of every act
}

// reports reports a failure of the scene's table.
func (s *scene) reports(code recoup.Code, severity recoup.Severity) {
	s.Helper()
	s.acts(func() { s.error = accept(s.T, s.work.Report(s.report(s.table, "e1", code, severity))) })
}

func (s *scene) does(in lifecycle.Input) {
	s.Helper()
	s.acts(func() { s.error = accept(s.T, s.work.Step(s.step(s.error.ID, in))) })
}

// acts notes what an act counts as at its time.
func (s *scene) acts(act func()) {
	s.Helper()
	before := s.work.Tallies
	s.work.Tallies = nil
	act()
	s.all = append(s.all, s.work.Tallies.Of(s.now)...)
	s.work.Tallies = append(before, s.work.Tallies...)
}

// wantMarks holds what all acts together count to the marks of the error: it counts once for each,
// in the minute of the mark, however often it was repeated.
func (s *scene) wantMarks() {
	s.Helper()
	type place struct {
		mark   string
		minute time.Time
	}
	got, want := map[place]int64{}, map[place]int64{}
	for _, a := range s.all {
		for mark, n := range map[string]int64{
			"retried": a.Retried, "exhausted": a.Exhausted, "not parked": a.NotParked, "last parked": a.LastParked, "unparked": a.Unparked, "deescalated": a.Deescalated,
		} {
			if at := (place{mark, a.Minute}); got[at]+n != 0 {
				got[at] += n
			} else {
				delete(got, at)
			}
		}
	}
	e := &s.error
	marks := map[string]time.Time{
		"retried": e.RetriedAt, "exhausted": e.ExhaustedAt, "last parked": e.LastParkedAt, "unparked": e.UnparkedAt, "deescalated": e.DeescalatedAt,
	}
	if e.LastParkedAt.IsZero() || !e.UnparkedAt.IsZero() {
		marks["not parked"] = e.CreatedAt
		if e.UnparkedAt.After(e.CreatedAt) {
			marks["not parked"] = e.UnparkedAt
		}
	}
	for mark, at := range marks {
		if !at.IsZero() {
			want[place{mark, store.Minute(at)}] = 1
		}
	}
	if !maps.Equal(got, want) {
		s.Errorf("marks count as %v, want %v", got, want)
	}
}

// events leaves out what is counted by marks.
func events(list []store.Activity) (rest []store.Activity) {
	for _, a := range list {
		a.Retried, a.Exhausted, a.NotParked, a.LastParked, a.Unparked, a.Deescalated = 0, 0, 0, 0, 0, 0
		if a != (store.Activity{Table: a.Table, Minute: a.Minute}) {
			rest = append(rest, a)
		}
	}
	return rest
}

// claims waits until a worker can have the error.
func (s *scene) claims() {
	s.Helper()
	s.now = s.error.NextRetryAt
	s.does(lifecycle.Claim{Token: s.ids.New(s.now), Worker: "w1"})
}

func (s *scene) fails() {
	s.Helper()
	s.does(lifecycle.Fail{Token: s.error.LeaseToken, Failure: failure("NETWORK_TIMEOUT")})
}

// begun is a story without what its beginning counts as.
func (s *scene) begun() { s.work.Tallies = nil }

func (s *scene) retryable() {
	s.reports("NETWORK_TIMEOUT", recoup.Medium)
	s.begun()
}

func (s *scene) claimed() {
	s.retryable()
	s.claims()
	s.begun()
}

func (s *scene) parked() {
	s.retryable()
	s.does(lifecycle.Park{By: "ada", Reason: "look"})
	s.begun()
}

// replayed is a dead letter that is part of a replay.
func (s *scene) replayed() {
	s.table = "pipeline.dead_letters"
	s.retryable()
	s.does(lifecycle.Replay{By: "ada"})
	s.begun()
}

// onLast is claimed for the last time.
func (s *scene) onLast() {
	s.retryable()
	for s.error.RetryCount < s.error.MaxRetries-1 {
		s.claims()
		s.fails()
	}
	s.claims()
	s.begun()
}

// Every transition, and what it counts as.
func TestTally(t *testing.T) {
	t.Parallel()
	type want = store.Activity
	rows := []struct {
		input lifecycle.Kind
		says  string
		story func(*scene)
		want  want
	}{
		{lifecycle.Reported, "a failure", func(s *scene) { s.reports("NETWORK_TIMEOUT", recoup.Medium) }, want{Reported: 1}},
		{lifecycle.Reported, "a failure that waits for a person", func(s *scene) { s.reports("SCHEMA_INVALID", recoup.High) },
			want{Reported: 1, Parked: 1}},
		{lifecycle.Reported, "a repeat, which uses up a retry", func(s *scene) { s.retryable(); s.reports("NETWORK_TIMEOUT", recoup.Medium) },
			want{Reported: 1, Archived: 1}},
		{lifecycle.Reported, "a second repeat", func(s *scene) {
			s.retryable()
			s.reports("NETWORK_TIMEOUT", recoup.Medium)
			s.begun()
			s.reports("NETWORK_TIMEOUT", recoup.Medium)
		}, want{Reported: 1, Archived: 1}},
		{lifecycle.Reported, "a repeat while a worker is at it", func(s *scene) { s.claimed(); s.reports("NETWORK_TIMEOUT", recoup.Medium) },
			want{Reported: 1, Archived: 1, Attempts: 1}},
		{lifecycle.Reported, "a repeat of what is parked is not parked again", func(s *scene) { s.parked(); s.reports("NETWORK_TIMEOUT", recoup.Medium) },
			want{Reported: 1, Archived: 1}},
		{lifecycle.Reported, "the last repeat that fits, of what is parked", func(s *scene) {
			s.parked()
			for s.error.RetryCount < s.error.MaxRetries-1 {
				s.reports("NETWORK_TIMEOUT", recoup.Medium)
			}
			s.begun()
			s.reports("NETWORK_TIMEOUT", recoup.Medium)
		}, want{Reported: 1, Archived: 1}},
		{lifecycle.Reported, "a repeat of what is escalated", func(s *scene) {
			s.parked()
			s.does(lifecycle.Escalate{By: "ada", Reason: "help"})
			s.begun()
			s.reports("NETWORK_TIMEOUT", recoup.Medium)
		}, want{Reported: 1, Archived: 1}},
		{lifecycle.Claimed, "a claim", func(s *scene) { s.retryable(); s.claims() }, want{}},
		{lifecycle.Claimed, "a claim of what a worker has lost", func(s *scene) { s.claimed(); s.claims() }, want{Attempts: 1}},
		{lifecycle.Claimed, "a claim of what a worker has lost for the last time", func(s *scene) { s.onLast(); s.claims() },
			want{Attempts: 1, Parked: 1}},
		{lifecycle.Extended, "a longer lease", func(s *scene) { s.claimed(); s.does(lifecycle.Extend{Token: s.error.LeaseToken}) }, want{}},
		{lifecycle.Succeeded, "a success", func(s *scene) { s.claimed(); s.does(lifecycle.Succeed{Token: s.error.LeaseToken}) },
			want{Attempts: 1, Succeeded: 1}},
		{lifecycle.Succeeded, "a success that is reported again", func(s *scene) {
			s.claimed()
			token := s.error.LeaseToken
			s.does(lifecycle.Succeed{Token: token})
			s.begun()
			s.does(lifecycle.Succeed{Token: token})
		}, want{}},
		{lifecycle.Succeeded, "a success at the last attempt", func(s *scene) { s.onLast(); s.does(lifecycle.Succeed{Token: s.error.LeaseToken}) },
			want{Attempts: 1, Succeeded: 1}},
		{lifecycle.Succeeded, "a success that comes too late", func(s *scene) {
			s.claimed()
			token := s.error.LeaseToken
			s.does(lifecycle.Park{By: "ada", Reason: "look"})
			s.begun()
			if out := s.work.Step(s.step(s.error.ID, lifecycle.Succeed{Token: token})); out.Err == nil {
				s.Fatal("it was accepted")
			}
		}, want{}},
		{lifecycle.Failed, "a first failure", func(s *scene) { s.claimed(); s.fails() }, want{Attempts: 1}},
		{lifecycle.Failed, "a second failure", func(s *scene) { s.claimed(); s.fails(); s.claims(); s.begun(); s.fails() }, want{Attempts: 1}},
		{lifecycle.Failed, "the last failure", func(s *scene) { s.onLast(); s.fails() }, want{Attempts: 1, Parked: 1}},
		{lifecycle.Failed, "a failure for good", func(s *scene) {
			s.claimed()
			s.does(lifecycle.Fail{Token: s.error.LeaseToken, Failure: failure("SCHEMA_INVALID")})
		}, want{Attempts: 1, Parked: 1}},
		{lifecycle.LeaseLapsed, "a worker that is lost", func(s *scene) { s.claimed(); s.now = s.error.LeaseEndsAt; s.does(lifecycle.Lapse{}) },
			want{Attempts: 1}},
		{lifecycle.WindowClosed, "the end of the window", func(s *scene) {
			s.retryable()
			s.now = s.error.WindowEndsAt.Add(time.Second)
			s.does(lifecycle.CloseWindow{})
		}, want{Parked: 1}},
		{lifecycle.Parking, "a park by hand", func(s *scene) { s.retryable(); s.does(lifecycle.Park{By: "ada", Reason: "look"}) }, want{Parked: 1}},
		{lifecycle.Parking, "a park while a worker is at it is no result", func(s *scene) { s.claimed(); s.does(lifecycle.Park{By: "ada", Reason: "look"}) },
			want{Parked: 1}},
		{lifecycle.Unparking, "an unpark", func(s *scene) { s.parked(); s.does(lifecycle.Unpark{By: "ada"}) }, want{LeftPark: 1, Cleared: 1, Reviewed: 1}},
		{lifecycle.Unparking, "a first failure since an unpark", func(s *scene) {
			s.onLast()
			s.fails()
			s.does(lifecycle.Unpark{By: "ada"})
			s.claims()
			s.begun()
			s.fails()
		}, want{Attempts: 1}},
		{lifecycle.Parking, "a second park", func(s *scene) {
			s.parked()
			s.does(lifecycle.Unpark{By: "ada"})
			s.begun()
			s.does(lifecycle.Park{By: "ada", Reason: "again"})
		}, want{Parked: 1}},
		{lifecycle.Resolving, "a resolution", func(s *scene) { s.claimed(); s.does(lifecycle.Resolve{By: "ada"}) }, want{Resolved: 1}},
		{lifecycle.Resolving, "a resolution of what is parked", func(s *scene) { s.parked(); s.does(lifecycle.Resolve{By: "ada"}) },
			want{Resolved: 1, LeftPark: 1, Cleared: 1, Reviewed: 1}},
		{lifecycle.Resolving, "a resolution of what was reviewed before", func(s *scene) {
			s.parked()
			s.does(lifecycle.Review{By: "ada"})
			s.begun()
			s.does(lifecycle.Resolve{By: "ada"})
		}, want{Resolved: 1, LeftPark: 1, Cleared: 1}},
		{lifecycle.Escalating, "a first escalation", func(s *scene) { s.parked(); s.does(lifecycle.Escalate{By: "ada", Reason: "help"}) },
			want{Escalated: 1}},
		{lifecycle.Escalating, "a second escalation", func(s *scene) {
			s.parked()
			s.does(lifecycle.Escalate{By: "ada", Reason: "help"})
			s.begun()
			s.does(lifecycle.Escalate{By: "ada", Reason: "help"})
		}, want{}},
		{lifecycle.Assigning, "an assignment", func(s *scene) { s.parked(); s.does(lifecycle.Assign{By: "ada", To: "bob"}) }, want{}},
		{lifecycle.Reviewing, "a review", func(s *scene) { s.parked(); s.does(lifecycle.Review{By: "ada"}) }, want{Reviewed: 1}},
		{lifecycle.Reviewing, "a second review", func(s *scene) {
			s.parked()
			s.does(lifecycle.Review{By: "ada"})
			s.begun()
			s.does(lifecycle.Review{By: "bob"})
		}, want{}},
		{lifecycle.Reminding, "a reminder", func(s *scene) { s.parked(); s.now = s.error.NextReminderAt; s.does(lifecycle.Remind{}) }, want{}},
		{lifecycle.Archiving, "an archiving by hand", func(s *scene) { s.claimed(); s.does(lifecycle.ArchiveNow{By: "ada"}) }, want{Archived: 1}},
		{lifecycle.Archiving, "an archiving by hand of what is parked", func(s *scene) { s.parked(); s.does(lifecycle.ArchiveNow{By: "ada"}) },
			want{Archived: 1, LeftPark: 1, Cleared: 1, Reviewed: 1}},
		{lifecycle.Expiring, "the end of the TTL", func(s *scene) { s.parked(); s.now = s.error.ExpiresAt; s.does(lifecycle.Expire{}) },
			want{Archived: 1, Expired: 1, LeftPark: 1}},
		{lifecycle.Expiring, "the end of the TTL of what is resolved", func(s *scene) {
			s.retryable()
			s.does(lifecycle.Resolve{By: "ada"})
			s.begun()
			s.now = s.error.ExpiresAt
			s.does(lifecycle.Expire{})
		}, want{Archived: 1}},
		{lifecycle.Rebasing, "another version of the policy", func(s *scene) {
			s.parked()
			next := *s.policy
			next.Version = "next"
			s.policy = &next
			s.does(lifecycle.Rebase{By: "ada"})
		}, want{}},
		{lifecycle.Replaying, "a replay", func(s *scene) { s.replayed() }, want{}},
		{lifecycle.Returning, "a replay that worked", func(s *scene) { s.replayed(); s.does(lifecycle.Return{}) }, want{}},
		{lifecycle.FailingAgain, "a replay that failed", func(s *scene) {
			s.replayed()
			s.does(lifecycle.FailAgain{Failure: failure("NETWORK_TIMEOUT")})
		}, want{}},
		{lifecycle.FailingAgain, "a replay that is for the engineers", func(s *scene) {
			s.replayed()
			s.does(lifecycle.FailAgain{Failure: failure("NETWORK_TIMEOUT"), Tier: 2})
		}, want{Escalated: 1}},
		{lifecycle.Verifying, "a replay that was verified", func(s *scene) { s.replayed(); s.does(lifecycle.Return{}); s.does(lifecycle.Verify{By: "ada"}) },
			want{LeftPark: 1, Cleared: 1, Reviewed: 1, Resolved: 1}},
	}
	var tried []lifecycle.Kind
	for _, row := range rows {
		tried = append(tried, row.input)
		t.Run(string(row.input)+"/"+row.says, func(t *testing.T) {
			t.Parallel()
			s := &scene{T: t, world: newWorld(), work: store.NewUnitOfWork(time.Time{}, nil), table: dol}
			row.story(s)
			want := []store.Activity{row.want}
			want[0].Table, want[0].Minute = s.table, store.Minute(s.now)
			if row.want == (store.Activity{}) {
				want = nil
			}
			if got := events(s.work.Tallies.Of(s.now)); !slices.Equal(got, want) {
				t.Errorf("counts as %+v, want %+v", got, want)
			}
			s.wantMarks()
		})
	}
	for _, known := range lifecycle.Transitions() {
		if !slices.Contains(tried, known.Input) {
			t.Errorf("%s is not tried", known.Input)
		}
	}
}

// Tables are counted each for itself, and what a transaction does twice twice.
func TestTalliesByTable(t *testing.T) {
	t.Parallel()
	w := newWorld()
	work := store.NewUnitOfWork(time.Time{}, nil)
	for _, table := range []string{target, dol, target} {
		accept(t, work.Report(w.report(table, "e-"+w.ids.New(w.now).String(), "NETWORK_TIMEOUT", recoup.Medium)))
	}
	want := []store.Activity{{Minute: w.now, Table: target, Reported: 2, NotParked: 2}, {Minute: w.now, Table: dol, Reported: 1, NotParked: 1}}
	if got := work.Tallies.Of(w.now.Add(59 * time.Second)); !slices.Equal(got, want) {
		t.Errorf("counts as %+v, want %+v", got, want)
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 2, 9, 0, 0, 250_000_000, time.UTC)
	const hour = int64(3_600_000_000)
	sums := []store.LevelSum{
		{Table: "b", State: recoup.Parked, TTL: 10 * hour, N: 2, Blocking: 1, Seconds: 2*now.Unix() - 3*3600, Micros: 500_000},
		{Table: "a", State: recoup.Active, N: 3},
		{Table: "b", State: recoup.Escalated, TTL: math.MaxInt64, N: 1, Blocking: 1, Seconds: now.Unix() - 3600},
		{Table: "b", State: recoup.Resolved, N: 7},
		{Table: "c", State: recoup.Active, N: 1}, {Table: "c", State: recoup.Active, N: -1},
	}
	got := store.Levels(now, sums)
	want := []store.Level{
		{Table: "a", Open: 3},
		{Table: "b", Open: 3, Parked: 3, Escalated: 1, Blocking: 2, Expiring: 3, Used: 0.3 + 3600.25*1e6/math.MaxInt64},
	}
	if !slices.Equal(got, want) {
		t.Errorf("levels are %+v, want %+v", got, want)
	}
}
