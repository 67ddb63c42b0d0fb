package scheduler_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// wrong notes that something is not as it should be.
func (y *year) wrong(format string, args ...any) {
	if len(y.broken) < 20 {
		y.broken = append(y.broken, fmt.Sprintf("at %s: ", y.clock().Format(time.RFC3339))+fmt.Sprintf(format, args...))
	}
}

// all reads a list to its end.
func all(y *year, read func(sqldb.Page) ([]recoup.Error, sqldb.Cursor, error)) []recoup.Error {
	var list []recoup.Error
	for p := (sqldb.Page{Limit: sqldb.MaxPage}); ; {
		page, next, err := read(p)
		y.must(err)
		list = append(list, page...)
		if next.IsZero() {
			return list
		}
		p.Cursor = next
	}
}

func (y *year) live() []recoup.Error {
	return all(y, func(p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
		return y.db.Errors(y.Context(), store.Filter{}, p)
	})
}

func (y *year) archived() []recoup.Error {
	var list []recoup.Error
	for _, t := range y.policies.Tables() {
		list = append(list, all(y, func(p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
			return y.db.Archived(y.Context(), t.Name, p)
		})...)
	}
	return list
}

// checkSwept holds what is open, after a leader has done all there was to do, to
// what the policy says of time: nothing lives past its TTL, and what is parked
// stands where its time in the park puts it, no lower and no sooner.
func (y *year) checkSwept() {
	now := y.clock()
	if y.full%5 > 0 {
		return
	}
	for _, e := range y.live() {
		p := y.policies.Of(&e)
		if end := e.ExpiresAt; !end.IsZero() {
			if e.Leased(end) {
				end = end.Add(p.Leases.ExpiryGrace)
			}
			if !now.Before(end) {
				y.wrong("%v lives past its TTL, which ended %v ago", e.ID, now.Sub(end))
			}
		}
		switch {
		case e.State == recoup.Resolved:
			y.wrong("%v is resolved and not archived", e.ID)
		case e.State == recoup.RetryPending && e.Lapsed(now):
			y.wrong("the lease of %v ran out at %v", e.ID, e.LeaseEndsAt)
		case e.State == recoup.RetryPending && e.LeaseToken.IsZero() && !e.WindowEndsAt.IsZero() && now.After(e.WindowEndsAt):
			y.wrong("the window of %v closed at %v", e.ID, e.WindowEndsAt)
		case !e.NextReminderAt.IsZero() && !now.Before(e.NextReminderAt):
			y.wrong("somebody was to be notified of %v at %v", e.ID, e.NextReminderAt)
		}
		if e.State != recoup.Parked && e.State != recoup.Escalated {
			continue
		}
		for _, rung := range p.Ladder {
			reached := e.ParkedAt.Add(rung.After)
			switch {
			case !now.Before(reached) && e.EscalationLevel < rung.Tier && e.PolicyVersion == p.Version:
				y.wrong("%v is parked since %v and stands on tier %d, not %d", e.ID, e.ParkedAt, e.EscalationLevel, rung.Tier)
			case e.EscalationLevel == rung.Tier && rung.Tier > 1 && byClock(e) && e.EscalatedAt.Before(reached):
				y.wrong("%v is parked since %v and was on tier %d at %v", e.ID, e.ParkedAt, rung.Tier, e.EscalatedAt)
			}
		}
	}
}

// byClock reports whether it was the clock that put an error on its tier, under
// the policy that it has now.
func byClock(e recoup.Error) bool {
	return e.EscalationReason == fmt.Sprintf("parked since %s", e.ParkedAt.UTC().Format(time.RFC3339)) && e.PolicyVersion == "1.0.0"
}

// checkPlaces holds what was acknowledged to what is there: each error once, in
// one place, and none that nobody has reported.
func (y *year) checkPlaces() {
	seen := map[recoup.ID]recoup.State{}
	for _, e := range slices.Concat(y.live(), y.archived()) {
		if state, twice := seen[e.ID]; twice {
			y.wrong("%v is in two places: %s and %s", e.ID, state, e.State)
		}
		seen[e.ID] = e.State
		known := y.made[e.ID]
		if known == nil {
			y.wrong("nobody has reported %v", e.ID)
			continue
		}
		known.purgeAt = e.PurgeAt
		if e.ArchiveReason == recoup.SupersededByNext && e.ParkReason != "" {
			known.heir = e.SupersededBy
		}
	}
	for _, id := range y.order {
		if _, there := seen[id]; !there && (y.made[id].purgeAt.IsZero() || y.made[id].purgeAt.After(y.latest)) {
			y.wrong("%v is lost", id)
		}
	}
}

// checkDrained finds nothing left to be done.
func (y *year) checkDrained() {
	lags, err := y.nodes[0].clock.Lags(y.Context())
	y.must(err)
	for job, lag := range lags {
		if lag > hour && job != "archive" && job != "outbox" && job != "processed" && job != "rollup-retention" && job != "receipts" { // which come now and then
			y.wrong("%s is %v behind", job, lag)
		}
	}
	pending, err := y.db.PendingNotices(y.Context(), 10)
	y.must(err)
	if len(pending) > 0 {
		y.wrong("%d notices wait", len(pending))
	}
	statuses, err := y.nodes[0].clock.Statuses(y.Context())
	y.must(err)
	for _, s := range statuses {
		if s.Late || s.Runs == 0 {
			y.wrong("%s: %+v", s.Name, s)
		}
	}
}

// checkEnded finds nothing open but what is kept for ever.
func (y *year) checkEnded() {
	for _, e := range y.live() {
		if !e.ExpiresAt.IsZero() {
			y.wrong("%v has not ended: %s, expires at %v", e.ID, e.State, e.ExpiresAt)
		}
	}
}

// checkLives holds histories to be of one piece: each change begins where the one
// before has ended, and an error ends once.
func (y *year) checkLives() {
	for _, id := range y.order {
		history, err := y.db.History(y.Context(), id, sqldb.MaxPage)
		y.must(err)
		ends := 0
		for i, h := range history {
			if h.After.State == recoup.Archived && h.Before.State != recoup.Archived {
				ends++
			}
			if i > 0 && (h.Before.State != history[i-1].After.State || h.Before.EscalationLevel != history[i-1].After.EscalationLevel) && !y.doubtful(h.At) {
				y.wrong("%v went from %+v to %s by %s of %+v", id, history[i-1].After, h.After.State, h.Input, h.Before)
			}
		}
		if ends > 1 {
			y.wrong("%v has ended %d times", id, ends)
		}
	}
}

// doubtful reports whether what happened at a time may stand in another order
// than it did, because clocks were wrong then, or were so far wrong that they
// showed it before or after.
func (y *year) doubtful(t time.Time) bool {
	return slices.ContainsFunc(y.odd, func(s store.Span) bool { return t.After(s.From.Add(-4*day)) && t.Before(s.To.Add(4*day)) })
}

// checkNotices compares the notices people got with what the histories say should
// have been: at least once each, and no more often than what went wrong explains.
func (y *year) checkNotices() {
	type about struct {
		id   recoup.ID
		kind wire.NoticeKind
	}
	notified, jobs := map[about]int{}, map[string]int{}
	unnamed := map[wire.NoticeKind]int{} // errors that a digest counts and does not name
	counted := map[recoup.ID]bool{}      // a copy says what its original does
	for _, l := range y.post.letters {
		switch {
		case l.times > 1+l.excused:
			y.wrong("%s of %v came %d times, and %d can be explained", l.Kind, l.ErrorID, l.times, 1+l.excused)
		case l.times == 0 && !l.passed && !l.givenUp:
			y.wrong("%s of %v never came", l.Kind, l.ErrorID)
		}
		if l.givenUp || counted[l.origin] {
			continue
		}
		counted[l.origin] = true
		digest := y.digest(l)
		for _, id := range digest.Errors {
			notified[about{id, l.Kind}]++
		}
		unnamed[l.Kind] += digest.Count - len(digest.Errors)
		y.countJob(jobs, l)
	}
	for job, n := range jobs {
		if n != 0 {
			y.wrong("of %s it was notified %d times more often that it is late than that it has caught up", job, n)
		}
	}
	held, missing := y.held(), map[wire.NoticeKind]int{}
	for _, id := range y.order {
		history, err := y.db.History(y.Context(), id, sqldb.MaxPage)
		y.must(err)
		want := map[wire.NoticeKind]int{}
		for i, h := range history {
			switch {
			case h.After.State == recoup.Parked && h.Before.State != recoup.Parked && h.Before.State != recoup.Escalated && !(i == 0 && held[id]):
				want[wire.NoticeParked]++
			case h.Input == "escalate":
				want[wire.NoticeEscalated]++
			case h.Input == "expire" && h.Before.Blocking:
				want[wire.NoticeUnblocked]++
			case h.Input == "remind":
				want["remind"]++
			}
		}
		for _, kind := range []wire.NoticeKind{wire.NoticeParked, wire.NoticeEscalated, wire.NoticeUnblocked} {
			got := notified[about{id, kind}]
			if got > want[kind] {
				y.wrong("%s of %v was notified %d times, not %d", kind, id, got, want[kind])
			}
			missing[kind] += want[kind] - got
		}
		reminded := notified[about{id, wire.NoticeReviewMissed}] + notified[about{id, wire.NoticeExpiring}]
		missing["remind"] += max(0, want["remind"]-reminded)
		if reminded > 2*want["remind"]+want[wire.NoticeEscalated] {
			y.wrong("%v was reminded of %d times, in %d reminders", id, reminded, want["remind"])
		}
		if y.mustHear(history) && notified[about{id, wire.NoticeExpiring}] == 0 && unnamed[wire.NoticeExpiring] == 0 {
			y.wrong("nobody heard that %v was about to expire: %+v", id, history)
		}
	}
	for _, kind := range []wire.NoticeKind{wire.NoticeParked, wire.NoticeEscalated, wire.NoticeUnblocked} {
		if missing[kind] != unnamed[kind] {
			y.wrong("%s of %d errors was not notified by name, and digests count %d more than they name", kind, missing[kind], unnamed[kind])
		}
	}
	if more := unnamed[wire.NoticeReviewMissed] + unnamed[wire.NoticeExpiring]; missing["remind"] > more {
		y.wrong("%d reminders reached nobody, and digests count %d more than they name", missing["remind"], more)
	}
}

// digest returns which errors a notice is about.
func (y *year) digest(l *letter) (d store.Digest) {
	if said := notify.Public(l.Notice).Body; l.ErrorID.IsZero() && json.Unmarshal([]byte(said), &d) == nil && d.Count > 0 {
		return d
	}
	return store.Digest{Count: 1, Errors: []recoup.ID{l.ErrorID}}
}

// countJob notes whether a notice says that a job is late or no longer is.
func (y *year) countJob(jobs map[string]int, l *letter) {
	var body struct{ Job string }
	switch l.Kind {
	case wire.NoticeJobLate, wire.NoticeJobRecovered:
		said := notify.Public(l.Notice).Body
		y.must(json.Unmarshal([]byte(said), &body))
		jobs[body.Job]++
		if l.Kind == wire.NoticeJobRecovered {
			jobs[body.Job] -= 2
		}
	}
}

// held are the errors that took over a place in the park, of which nobody is notified.
func (y *year) held() map[recoup.ID]bool {
	held := map[recoup.ID]bool{}
	for _, l := range y.made {
		held[l.heir] = true
	}
	return held
}

// mustHear reports whether an error's expiry has unblocked its entity, and its
// owner had to hear of it a day before: nothing had happened to it for a day, in
// which a leader was at work.
func (y *year) mustHear(history []recoup.Transition) bool {
	n := len(history)
	if n < 2 || history[n-1].Input != "expire" || !history[n-1].Before.Blocking {
		return false
	}
	last := n - 2
	for last > 0 && history[last].Input == "remind" {
		last--
	}
	from := history[n-1].Before.ExpiresAt.Add(-day)
	return !y.doubtful(history[n-1].At) && history[last].At.Before(from) && history[last].After.ExpiresAt.Equal(history[n-1].Before.ExpiresAt) &&
		slices.ContainsFunc(y.swept, func(t time.Time) bool { return !t.Before(from) && t.Before(history[n-1].At) })
}

// checkLedger holds the rollups to the events, and the ledger to the reports.
func (y *year) checkLedger() {
	want := map[recoup.Code]int64{}
	ids := map[recoup.ID]bool{}
	for key, code := range y.events {
		want[code]++
		ids[key.id] = true
	}
	days, err := y.db.Daily(y.Context(), store.DailyFilter{}, epoch.Add(-400*day), y.latest.Add(400*day))
	y.must(err)
	got := map[recoup.Code]int64{}
	for _, d := range days {
		got[d.Code] += d.Count
	}
	for code := range want {
		if got[code] != want[code] {
			y.wrong("the rollups count %d of %s, and there were %d", got[code], code, want[code])
		}
	}
	for code := range got {
		if want[code] == 0 {
			y.wrong("the rollups count %d of %s, and there was none", got[code], code)
		}
	}
	for _, id := range y.order {
		if !ids[id] {
			y.wrong("the ledger knows nothing of %v", id)
		}
	}
}

// sabotage is a mistake that is made on purpose, to see that it is found.
type sabotage int

const (
	honest sabotage = iota
	neverEscalates
	neverExpires
	neverReminds
	leavesResolved
	losesErrors
	keepsArchived
	losesNotices
	forgetsThanks
	losesEvents
	keepsHalves
	firesEarly
	neverResolves
	losesEnds
	repeatsSoon
	hearsNoSilence
	goesByNodes
)

// of are the jobs that are run.
func (s sabotage) of(jobs []scheduler.Job) []scheduler.Job {
	skipped := map[sabotage]string{neverEscalates: "escalation", neverExpires: "ttl", neverReminds: "reminders", leavesResolved: "resolved"}[s]
	return slices.DeleteFunc(jobs, func(j scheduler.Job) bool { return j.Name == skipped })
}

// TestYearFindsMistakes makes mistakes, one a year, and wants each to be found.
func TestYearFindsMistakes(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sabotage{
		"none": honest, "never escalates": neverEscalates, "never expires": neverExpires, "never reminds": neverReminds,
		"leaves what is resolved": leavesResolved, "loses errors": losesErrors, "archives without deleting": keepsArchived,
		"loses notices": losesNotices, "does not note what it has notified": forgetsThanks, "loses events": losesEvents,
		"keeps half of what was cut off": keepsHalves, "fires too early": firesEarly, "never resolves": neverResolves,
		"does not tell what is over": losesEnds, "repeats too soon": repeatsSoon, "hears no silence": hearsNoSilence,
		"goes by the clocks of nodes": goesByNodes,
	} {
		if testing.Short() && s > neverReminds {
			continue // the others take longer to be found
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rough := s == keepsHalves || s == goesByNodes
			found := simulate(t, 7, rough, s, 60*day).broken
			for seed := uint64(8); rough && len(found) == 0 && seed < 24; seed++ {
				found = simulate(t, seed, true, s, 60*day).broken // where faults fall is chance, and not every half shows
			}
			if t.Logf("found: %q", found); (len(found) > 0) != (s != honest) {
				t.Fail()
			}
		})
	}
}
