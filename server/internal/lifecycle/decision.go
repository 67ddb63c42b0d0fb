package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Decision is what [Step] decided on one error, remembered for others: it holds
// for every error that agrees with that one in the columns on which it depends.
// Step stays the only place where a transition is decided; a decision that is
// remembered saves asking it again.
//
// Remembered are decisions that are made by the thousand: that a due error is
// leased, that the result of its retry resolves it, that it is retried once more,
// that it is archived. None of them moves a count of failures, and the only one that
// notifies anybody is an expiry that has unblocked an entity.
type Decision struct {
	Kind      Kind         // Claimed, Succeeded, Failed, Expiring or Archiving
	Was, Next recoup.Error // the error that it was made on, before and after
	Effects   Effects

	columns []dependence
	wait    time.Duration // of a lease, until the next retry, or in the archive
}

// Remember keeps a decision of Step, if it is one that can stand for others.
func Remember(was, next *recoup.Error, effects *Effects) (*Decision, bool) {
	d := &Decision{Was: *was, Next: *next, Effects: *effects}
	switch h := &effects.History; {
	case effects.Streak != Streak{}, effects.Superseded != nil, effects.Warning != "", effects.CloseLetter, !together(effects.Notices.All()):
		return nil, false
	case effects.Archive:
		if !was.LeaseToken.IsZero() || !derived(was) || expiredResolved(was, h.At) {
			return nil, false
		}
		d.Kind, d.columns, d.wait = Kind(h.Input), dependsArchived, next.PurgeAt.Sub(h.At)
		switch {
		case was.State == recoup.Resolved:
			d.columns = dependsClaimed
		case d.Kind == Expiring:
			d.columns = dependsExpired
		}
	case len(effects.Notices.All()) > 0:
		return nil, false
	case h.Input == "" && was.LeaseToken.IsZero() && !next.LeaseToken.IsZero():
		d.Kind, d.columns, d.wait = Claimed, dependsClaimed, next.LeaseEndsAt.Sub(next.LeasedAt)
	case h.Input == string(Succeeded) && next.State == recoup.Resolved:
		d.Kind, d.columns = Succeeded, dependsSucceeded
	case h.Input == string(Failed) && next.State == recoup.RetryPending && next.Disposition == was.Disposition && next.State == was.State:
		d.Kind, d.columns, d.wait = Failed, dependsFailed, next.NextRetryAt.Sub(h.At)
	default:
		return nil, false
	}
	return d, true
}

// Columns names the columns, as the stores have them, in which another error must
// agree. The entity counts only as given or not given: see [Decision.Entity].
func (d *Decision) Columns() []string {
	list := make([]string, len(d.columns))
	for i, c := range d.columns {
		list[i] = c.column
	}
	return list
}

// Entity reports whether it matters that another error names an entity, or names
// none, as this one does.
func (d *Decision) Entity() bool { return d.Kind == Failed }

// Wait is how long the lease is, after which time the error is retried, or how long
// it is kept in the archive.
func (d *Decision) Wait() time.Duration { return d.wait }

// Agrees reports whether e agrees in all that the decision depends on but the time.
func (d *Decision) Agrees(e *recoup.Error) bool {
	for i := range d.columns {
		if !d.columns[i].same(&d.Was, e) {
			return false
		}
	}
	return !d.Entity() || (e.EntityID == "") == (d.Was.EntityID == "")
}

// Holds reports whether the decision stands for e at now. A result is e's if it
// carries the token of e's lease: that is for whoever asks to see to.
func (d *Decision) Holds(e *recoup.Error, now time.Time) bool {
	switch d.Kind {
	case Claimed:
		return d.Agrees(e) && e.LeaseToken.IsZero() && !e.NextRetryAt.After(now) && !expired(e, now) && !windowOver(e, now)
	case Failed:
		return d.Agrees(e) && !e.LeaseToken.IsZero() && !windowOver(e, now.Add(d.wait))
	case Expiring:
		return d.Agrees(e) && e.LeaseToken.IsZero() && derived(e) && expired(e, now)
	case Archiving:
		return d.Agrees(e) && e.LeaseToken.IsZero() && derived(e) && !expiredResolved(e, now)
	}
	return d.Agrees(e) && !e.LeaseToken.IsZero()
}

// Lease is what a claim that the decision stands for makes of e.
func (d *Decision) Lease(e *recoup.Error, token recoup.ID, worker string, now time.Time) recoup.Error {
	next := *e
	next.Lease = recoup.NewLease(token, worker, now, d.wait)
	next.LastRetryAt, next.NextRetryAt, next.UpdatedAt = now, next.LeaseEndsAt, now
	return next
}

// End is what a result that the decision stands for makes of e, or the end of its
// life, and its effects.
func (d *Decision) End(e *recoup.Error, now time.Time) (recoup.Error, Effects) {
	if d.Effects.Archive {
		return d.archive(e, now)
	}
	next, was, effects := *e, &d.Next, d.Effects
	h := &effects.History
	h.ErrorID, h.At, h.Worker, h.ClaimedAt, h.Attempt = e.ID, now, e.LeaseWorker, e.LeasedAt, e.LeaseToken
	h.Actor = cmp.Or(e.LeaseWorker, recoup.System)
	h.Before.NextRetryAt, h.Before.ExpiresAt, h.After.ExpiresAt = e.NextRetryAt, e.ExpiresAt, e.ExpiresAt

	next.LastAttempt, next.LastResult, next.Lease = e.LeaseToken, was.LastResult, recoup.Lease{}
	next.State, next.Disposition, next.Blocking, next.Replaceable = was.State, was.Disposition, was.Blocking, e.Replaceable && was.State.Open()
	next.RetryExhausted, next.UpdatedAt = was.RetryExhausted, now
	if d.Kind == Failed {
		next.RetryCount, next.LastFailureCode, next.NextRetryAt = was.RetryCount, was.LastFailureCode, now.Add(d.wait)
		h.After.NextRetryAt = next.NextRetryAt
		mark(e, &next, now)
		return next, effects
	}
	next.StreakFamily, next.StreakCount = "", 0
	next.NextRetryAt, next.NextEscalationAt, next.ReviewDueAt, next.NextReminderAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	next.Resolution = recoup.Resolution{ResolvedAt: now, ResolvedBy: h.Actor, ResolutionReason: was.ResolutionReason}
	mark(e, &next, now)
	return next, effects
}

// Brief is what the decision makes of an error of which nothing is known but what it is
// and that it agrees: what was decided.
func (d *Decision) Brief(id, correlation recoup.ID, now time.Time) (recoup.Error, Effects) {
	e := recoup.Error{
		ID: id, Table: d.Was.Table, PolicyVersion: d.Was.PolicyVersion, CorrelationID: correlation,
		State: d.Next.State, Disposition: d.Next.Disposition, Blocking: d.Next.Blocking, UpdatedAt: now, Resolution: d.Next.Resolution,
	}
	e.RetryCount, e.MaxRetries, e.RetryExhausted, e.LastResult = d.Next.RetryCount, d.Next.MaxRetries, d.Next.RetryExhausted, d.Next.LastResult
	switch {
	case d.Effects.Archive:
		e.Archive = d.Next.Archive
		e.ArchivedAt, e.PurgeAt = now, now.Add(d.wait)
	case d.Kind == Succeeded:
		e.ResolvedAt = now
	default:
		e.NextRetryAt = now.Add(d.wait)
	}
	return e, Effects{Event: d.Effects.Event}
}

func (d *Decision) archive(e *recoup.Error, now time.Time) (recoup.Error, Effects) {
	next, effects := *e, d.Effects
	next.State, next.Blocking, next.Replaceable, next.UpdatedAt = recoup.Archived, false, false, now
	next.FinalDisposition, next.ArchivedAt, next.PurgeAt = e.Disposition, now, now.Add(d.wait)
	next.ArchivedBy, next.ArchiveReason = d.Next.ArchivedBy, d.Next.ArchiveReason
	mark(e, &next, now)
	h := &effects.History
	h.ErrorID, h.At, h.Before, h.After = e.ID, now, e.Snapshot(), next.Snapshot()
	return next, effects
}

// together reports whether one digest can carry these notices for many errors.
func together(notices []Notice) bool {
	return !slices.ContainsFunc(notices, func(n Notice) bool { return n.Kind != wire.NoticeUnblocked })
}

// derived reports whether what follows from other columns is as a step leaves it.
func derived(e *recoup.Error) bool { return e.RetryExhausted == exhausted(e) }

// expiredResolved reports whether an error is resolved and its TTL over as well: then
// it may be either that archives it.
func expiredResolved(e *recoup.Error, now time.Time) bool {
	return e.State == recoup.Resolved && expired(e, now)
}

// dependence is a column on which a decision depends.
type dependence struct {
	column string
	same   func(a, b *recoup.Error) bool
}

func depends[V comparable](column string, at func(*recoup.Error) V) dependence {
	return dependence{column, func(a, b *recoup.Error) bool { return at(a) == at(b) }}
}

// What decisions depend on: what Step asks, and what a row of the history says of
// the error as it was.
var (
	dependsClaimed = []dependence{
		depends("policy_version", func(e *recoup.Error) string { return e.PolicyVersion }),
		depends("table_name", func(e *recoup.Error) string { return e.Table }),
		depends("state", func(e *recoup.Error) recoup.State { return e.State }),
	}
	dependsResult = append(dependsClaimed[:len(dependsClaimed):len(dependsClaimed)],
		depends("disposition", func(e *recoup.Error) recoup.Disposition { return e.Disposition }),
		depends("escalation_level", func(e *recoup.Error) int { return e.EscalationLevel }),
		depends("retry_count", func(e *recoup.Error) int { return e.RetryCount }),
		depends("max_retries", func(e *recoup.Error) int { return e.MaxRetries }),
		depends("assigned_to", func(e *recoup.Error) string { return e.AssignedTo }),
		depends("escalated_to", func(e *recoup.Error) string { return e.EscalatedTo }),
	)
	dependsSucceeded = append(dependsResult[:len(dependsResult):len(dependsResult)],
		depends("code", func(e *recoup.Error) recoup.Code { return e.Code }),
		depends("blocking", func(e *recoup.Error) bool { return e.Blocking }),
		depends("last_failure_code", func(e *recoup.Error) recoup.Code { return e.LastFailureCode }),
		depends("streak_family", func(e *recoup.Error) string { return e.StreakFamily }),
	)
	dependsArchived = append(dependsClaimed[:len(dependsClaimed):len(dependsClaimed)],
		depends("code", func(e *recoup.Error) recoup.Code { return e.Code }),
		depends("last_failure_code", func(e *recoup.Error) recoup.Code { return e.LastFailureCode }),
	)
	dependsExpired = append(dependsArchived[:len(dependsArchived):len(dependsArchived)],
		depends("blocking", func(e *recoup.Error) bool { return e.Blocking }),
		depends("assigned_to", func(e *recoup.Error) string { return e.AssignedTo }),
		depends("escalated_to", func(e *recoup.Error) string { return e.EscalatedTo }),
		depends("historic", func(e *recoup.Error) bool { return e.Historic }),
	)
	dependsFailed = append(dependsResult[:len(dependsResult):len(dependsResult)],
		depends("category", func(e *recoup.Error) recoup.Category { return e.Category }),
		depends("class", func(e *recoup.Error) recoup.Class { return e.Class }),
	)
)
