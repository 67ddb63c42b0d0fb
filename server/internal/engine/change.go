package engine

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// ChangeKind is a way in which another version of the policy changes an error.
type ChangeKind string

// The kinds of change. An error may undergo several.
const (
	ChangeSooner    ChangeKind = "expires_sooner"
	ChangeLater     ChangeKind = "expires_later"
	ChangePlace     ChangeKind = "disposition" // or its state: retried, parked, archived, ignored
	ChangeBlocked   ChangeKind = "blocked"     // it begins to block its entity
	ChangeUnblocked ChangeKind = "unblocked"   // it ceases to
	ChangeOwner     ChangeKind = "owner"       // or its tier
	ChangeRetries   ChangeKind = "retries"     // how many, until when, or the next one
	ChangeDeadlines ChangeKind = "deadlines"   // of its review, its escalation or its owner's reminder
)

// changeKinds lists them in the order in which a plan does.
func changeKinds() []ChangeKind {
	return []ChangeKind{ChangeUnblocked, ChangeBlocked, ChangePlace, ChangeSooner, ChangeLater, ChangeOwner, ChangeRetries, ChangeDeadlines}
}

// differences says in which ways an error has changed. There is none if all that
// has changed is its version.
func differences(was, is *recoup.Error) []ChangeKind {
	var list []ChangeKind
	add := func(k ChangeKind, differ bool) {
		if differ {
			list = append(list, k)
		}
	}
	moved := func(a, b time.Time) bool { return !a.Equal(b) }
	add(ChangeUnblocked, was.Blocking && !is.Blocking)
	add(ChangeBlocked, is.Blocking && !was.Blocking)
	add(ChangePlace, was.State != is.State || was.Disposition != is.Disposition || was.ParkReason != is.ParkReason)
	add(ChangeSooner, is.ExpiresAt.Before(was.ExpiresAt))
	add(ChangeLater, is.ExpiresAt.After(was.ExpiresAt))
	add(ChangeOwner, was.EscalationLevel != is.EscalationLevel || was.Owner() != is.Owner() || was.EscalatedTo != is.EscalatedTo)
	add(ChangeRetries, was.MaxRetries != is.MaxRetries || was.RetryExhausted != is.RetryExhausted ||
		moved(was.WindowEndsAt, is.WindowEndsAt) || moved(was.NextRetryAt, is.NextRetryAt))
	add(ChangeDeadlines, moved(was.ReviewDueAt, is.ReviewDueAt) || moved(was.NextEscalationAt, is.NextEscalationAt) ||
		moved(was.NextReminderAt, is.NextReminderAt))
	return list
}

// Change is how many errors undergo a kind of change.
type Change struct {
	Kind ChangeKind  `json:"kind" doc:"what would change"`
	N    int         `json:"count" doc:"for how many errors"`
	IDs  []recoup.ID `json:"error_ids" doc:"the first hundred of them"`
}

// TableChanges is what a version changes in one table.
type TableChanges struct {
	Table   string             `json:"table" doc:"the error table"`
	Open    int                `json:"open" doc:"its errors that were looked at"`
	Changed int                `json:"changed" doc:"how many would change"`
	Changes map[ChangeKind]int `json:"changes,omitempty" doc:"how many, by what would change"`
}

// Kept is how many errors of a table stay with their version, and why.
type Kept struct {
	Table  string      `json:"table" doc:"the error table"`
	Gone   bool        `json:"gone" doc:"the version does not have the table any more"`
	Reason string      `json:"reason" doc:"why they stay"`
	N      int         `json:"count" doc:"how many"`
	IDs    []recoup.ID `json:"error_ids" doc:"the first hundred of them"`
}

// maxListed is how many ids a plan lists of each kind.
const maxListed = 100

func listed(ids []recoup.ID, id recoup.ID) []recoup.ID {
	if len(ids) < maxListed {
		ids = append(ids, id)
	}
	return ids
}

// Plan is what another version of the policy would change in the errors that are
// open, or what it has changed.
type Plan struct {
	Version string         `json:"version" doc:"the version that was compared"`
	Open    int            `json:"open" doc:"errors that were looked at"`
	Current int            `json:"current" doc:"of these, judged by the version already"`
	Moved   int            `json:"moved" doc:"of these, to be judged by the version"`
	Changed int            `json:"changed" doc:"of those that move, changed in more than their version"`
	Changes []Change       `json:"changes" doc:"what changes, and for how many errors"`
	Tables  []TableChanges `json:"tables" doc:"the same by table"`
	Kept    []Kept         `json:"kept" doc:"what stays with its version"`
	Codes   []CodeTaken    `json:"codes,omitempty" doc:"registered by hand, and defined by the version from then on"`
	Adopted []AdoptedTable `json:"adopted,omitempty" doc:"tables that are adopted and that the version lacks; it is refused until they are moved or released"`
}

// AdoptedTable is a table of the policy in force under which an existing one is adopted.
type AdoptedTable struct {
	Table  string `json:"table" doc:"of the policy in force"`
	Source string `json:"source" doc:"the table that is adopted under it"`
}

// CodeTaken is a code that somebody registered and that a policy defines from now on: it
// means what the policy says.
type CodeTaken struct {
	Code        recoup.Code   `json:"code" doc:"a code that a program had registered, and that the policy defines now"`
	LostAliases []recoup.Code `json:"lost_aliases,omitempty" doc:"which the policy does not give it: they mean nothing any more"`
}

// Prediction is what another version would make of one error.
type Prediction struct {
	Before, After recoup.Error
	Changes       []ChangeKind // none: only its version changes
	Kept          error        // why it stays with its version; nil: it does not
}

// current reports whether the error had the version before.
func (p *Prediction) current() bool { return p.Kept == nil && p.Before == p.After }

// add counts one error.
func (p *Plan) add(next *policy.Policy, x *Prediction) {
	p.Open++
	i := slices.IndexFunc(p.Tables, func(t TableChanges) bool { return t.Table == x.Before.Table })
	if i < 0 {
		i = len(p.Tables)
		p.Tables = append(p.Tables, TableChanges{Table: x.Before.Table, Changes: map[ChangeKind]int{}})
	}
	table := &p.Tables[i]
	table.Open++
	switch {
	case x.current():
		p.Current++
		return
	case x.Kept != nil:
		p.keep(next, x)
		return
	}
	p.Moved++
	if len(x.Changes) > 0 {
		p.Changed++
		table.Changed++
	}
	for _, kind := range x.Changes {
		table.Changes[kind]++
		change := &p.Changes[slices.IndexFunc(p.Changes, func(c Change) bool { return c.Kind == kind })]
		change.N++
		change.IDs = listed(change.IDs, x.Before.ID)
	}
}

func (p *Plan) keep(next *policy.Policy, x *Prediction) {
	table, reason := x.Before.Table, x.Kept.Error()
	var refusal *lifecycle.Refusal
	switch {
	case errors.As(x.Kept, &refusal):
		reason = refusal.Reason
	case errors.Is(x.Kept, store.ErrRefused):
		reason = store.ErrRefused.Error() // the rest is about this one error
	}
	i := slices.IndexFunc(p.Kept, func(k Kept) bool { return k.Table == table && k.Reason == reason })
	if i < 0 {
		_, known := next.Table(table)
		i = len(p.Kept)
		p.Kept = append(p.Kept, Kept{Table: table, Gone: !known, Reason: reason})
	}
	p.Kept[i].N++
	p.Kept[i].IDs = listed(p.Kept[i].IDs, x.Before.ID)
}

// newPlan begins a count; every kind has its place.
func newPlan(next *policy.Policy) *Plan {
	p := &Plan{Version: next.Version, Tables: []TableChanges{}, Kept: []Kept{}}
	for _, kind := range changeKinds() {
		p.Changes = append(p.Changes, Change{Kind: kind})
	}
	return p
}

// done leaves out what did not occur and puts the rest in order.
func (p *Plan) done() Plan {
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool { return c.N == 0 })
	slices.SortFunc(p.Tables, func(a, b TableChanges) int { return cmp.Compare(a.Table, b.Table) })
	slices.SortFunc(p.Kept, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Reason, b.Reason)) })
	return *p
}
