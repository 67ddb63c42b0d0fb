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

func letterLists() []letterClause {
	return []letterClause{
		{"dead letters are listed newest first, by pipeline, stage, class, step, group and age", letterList},
		{"a group counts what it has and what came on which day, and moves to the front", letterGroups},
		{"a group has an owner and a note, and its notes are kept", letterGroupNotes},
		{"a new round of another kind moves a dead letter to another group", letterRegroup},
	}
}

// walk lists dead letters page by page.
func (d *letterDriver) walk(f store.DeadLetterFilter, size int) (ids []recoup.ID) {
	d.Helper()
	for p := (sqldb.Page{Limit: size}); ; {
		page, next, err := d.store.DeadLetters(d.Context(), f, p)
		d.must(err)
		for _, l := range page {
			if whole := d.read(l.Dead.ErrorID); l.Error.ID.IsZero() {
				if l.Error = whole.Error; l.Error.State != recoup.Archived {
					d.Errorf("an error is left out that is %s", l.Error.State)
				}
			} else if l != whole {
				d.Errorf("listed is %+v, stored is %+v", l, whole)
			}
			ids = append(ids, l.Dead.ErrorID)
		}
		if p.Cursor = next; next.IsZero() {
			return ids
		}
	}
}

func letterList(d *letterDriver) {
	var all []recoup.ID
	want := map[string][]recoup.ID{}
	for i := range 15 {
		f := []breakdown{slow, malformed, {Stage: "fetch", Class: "VALIDATION_ERROR", Signature: "x"}}[i%3]
		id := d.dead(f).Dead.ErrorID
		if i%4 == 0 {
			_, err := d.stepLetter(id, d.move(recoup.StepTriaged))
			d.must(err)
			want["triaged"] = append(want["triaged"], id)
		}
		if i%5 == 4 {
			d.must(d.apply(id, lifecycle.ArchiveNow{})) // and is not listed any more
			want["triaged"] = slices.DeleteFunc(want["triaged"], func(other recoup.ID) bool { return other == id })
			continue
		}
		all = append(all, id)
		want[f.Stage], want[string(f.Class)], want[f.Signature] = append(want[f.Stage], id), append(want[string(f.Class)], id), append(want[f.Signature], id)
		if i%2 == 0 {
			d.wait(minute) // two of the same time
		}
	}
	want["verified"] = all[:1]
	d.verified(all[0])
	closed := all[0]
	for name, f := range map[string]store.DeadLetterFilter{
		"": {}, "criticizer": {DeadLetterFilter: recoup.DeadLetterFilter{Pipeline: criticizer}}, "fetch": {DeadLetterFilter: recoup.DeadLetterFilter{Stage: "fetch"}}, "llm": {DeadLetterFilter: recoup.DeadLetterFilter{Stage: "llm", Pipeline: criticizer}},
		"VALIDATION_ERROR": {DeadLetterFilter: recoup.DeadLetterFilter{Class: "VALIDATION_ERROR"}}, "NETWORK_TIMEOUT": {DeadLetterFilter: recoup.DeadLetterFilter{Class: "NETWORK_TIMEOUT", Stage: "fetch"}},
		"triaged": {DeadLetterFilter: recoup.DeadLetterFilter{Step: recoup.StepTriaged}}, "verified": {DeadLetterFilter: recoup.DeadLetterFilter{Step: recoup.StepVerified}}, "other": {DeadLetterFilter: recoup.DeadLetterFilter{Pipeline: "other"}},
		"within": {Within: &store.Pipelines{Names: []string{"other", criticizer}}}, "within others": {Within: &store.Pipelines{Names: []string{"other", "another"}}},
		"except": {Within: &store.Pipelines{Names: []string{"other"}, Except: true}}, "except it": {Within: &store.Pipelines{Names: []string{criticizer}, Except: true}},
		"within none": {Within: &store.Pipelines{}}, "verified within": {DeadLetterFilter: recoup.DeadLetterFilter{Step: recoup.StepVerified}, Within: &store.Pipelines{Names: []string{"other", criticizer}}},
		"verified again":    {DeadLetterFilter: recoup.DeadLetterFilter{Step: recoup.StepVerified, Pipeline: criticizer, GroupID: recoup.GroupID(criticizer, "fetch", slow.Class, slow.Signature)}},
		malformed.Signature: {DeadLetterFilter: recoup.DeadLetterFilter{GroupID: recoup.GroupID(criticizer, "llm", malformed.Class, malformed.Signature)}},
	} {
		expected := want[name]
		switch name {
		case "", "criticizer", "within", "except":
			expected = all
		case "verified again", "verified within":
			expected = want["verified"]
		}
		expected = slices.Clone(expected)
		if f.Step != recoup.StepVerified {
			expected = slices.DeleteFunc(expected, func(id recoup.ID) bool { return id == closed })
		}
		got := d.walk(f, 3)
		slices.Reverse(got)
		if !slices.Equal(got, expected) {
			d.Errorf("%s: listed %d, want %d", name, len(got), len(expected))
		}
	}
	after, before := Epoch().Add(2*minute), Epoch().Add(5*minute)
	for _, l := range d.walkLetters(store.DeadLetterFilter{DeadLetterFilter: recoup.DeadLetterFilter{After: after, Before: before}}) {
		if l.Dead.CreatedAt.Before(after) || !l.Dead.CreatedAt.Before(before) {
			d.Errorf("listed one of %v", l.Dead.CreatedAt)
		}
	}
	if n := len(d.walkLetters(store.DeadLetterFilter{DeadLetterFilter: recoup.DeadLetterFilter{After: after, Before: before}})) + len(d.walkLetters(store.DeadLetterFilter{DeadLetterFilter: recoup.DeadLetterFilter{Before: after}})) +
		len(d.walkLetters(store.DeadLetterFilter{DeadLetterFilter: recoup.DeadLetterFilter{After: before}})); n != len(all)-1 {
		d.Errorf("%d are listed by age, want %d", n, len(all)-1)
	}
}

func (d *letterDriver) walkLetters(f store.DeadLetterFilter) []store.StagedWork {
	d.Helper()
	list, _, err := d.store.DeadLetters(d.Context(), f, sqldb.Page{Limit: sqldb.MaxPage})
	d.must(err)
	return list
}

// verified takes a dead letter to its end.
func (d *letterDriver) verified(id recoup.ID) {
	d.Helper()
	d.validated(id)
	d.replayed(1, id)
	d.ack(d.claim(1))
	_, err := d.stepLetter(id, d.move(recoup.StepVerified))
	d.must(err)
}

func letterGroups(d *letterDriver) {
	first := d.now
	ids := d.deadMany(4, slow)
	d.wait(minute)
	d.dead(malformed)
	d.wait(day)
	ids = append(ids, d.deadMany(3, slow)...)
	d.verified(ids[0])
	d.must(d.apply(ids[1], lifecycle.ArchiveNow{}))
	g := recoup.DeadLetterGroup{
		ID:       recoup.GroupID(criticizer, "fetch", slow.Class, slow.Signature),
		Pipeline: criticizer, Stage: "fetch", Class: slow.Class, Signature: slow.Signature,
		FirstSeenAt: first, LastSeenAt: d.now, Open: 5, Total: 7,
	}
	for range 2 {
		got, err := d.store.Group(d.Context(), g.ID)
		d.must(err)
		if got != g {
			d.Errorf("the group is %+v, want %+v", got, g)
		}
		days, err := d.store.GroupDays(d.Context(), []recoup.ID{g.ID, {1}}, first)
		d.must(err)
		midnight := first.Truncate(day)
		if !slices.Equal(days, []recoup.GroupDay{{GroupID: g.ID, DayCount: recoup.DayCount{Day: midnight, N: 4}}, {GroupID: g.ID, DayCount: recoup.DayCount{Day: midnight.Add(day), N: 3}}}) {
			d.Errorf("its days are %+v", days)
		}
		if days, err = d.store.GroupDays(d.Context(), []recoup.ID{g.ID}, d.now); err != nil || len(days) != 1 {
			d.Errorf("its last day is %+v: %v", days, err)
		}
		d.must(d.store.FoldDeadLetterCounts(d.Context()))
	}
	for pipeline, want := range map[string]int{"": 2, criticizer: 2, "other": 0} {
		var got []recoup.DeadLetterGroup
		for p := (sqldb.Page{Limit: 1}); ; {
			page, next, err := d.store.Groups(d.Context(), store.GroupFilter{Pipeline: pipeline}, p)
			d.must(err)
			got = append(got, page...)
			if p.Cursor = next; next.IsZero() {
				break
			}
		}
		if len(got) != want || want > 0 && (got[0] != g || got[1].Class != malformed.Class) {
			d.Errorf("groups of %q are %+v", pipeline, got)
		}
	}
	if got := d.walk(store.DeadLetterFilter{DeadLetterFilter: recoup.DeadLetterFilter{GroupID: g.ID}}, 2); len(got) != 5 {
		d.Errorf("%d members", len(got))
	}
}

func letterGroupNotes(d *letterDriver) {
	g := d.dead(slow).Dead.GroupID
	own := func(owner string) store.DecideGroup {
		return func(current recoup.DeadLetterGroup) (recoup.DeadLetterGroup, []recoup.Note, error) {
			current.Owner, current.Note, current.Pipeline = owner, "call "+owner, "cannot be changed"
			return current, []recoup.Note{{GroupID: g, Step: "ASSIGNED", Actor: "ada", At: d.now, Text: owner}}, nil
		}
	}
	for _, owner := range []string{"bob", "eve"} {
		got, err := d.store.StepGroup(d.Context(), g, own(owner))
		d.must(err)
		if stored, err := d.store.Group(d.Context(), g); err != nil || stored != got || got.Owner != owner || got.Pipeline != criticizer || got.Open != 1 {
			d.Errorf("the group is %+v, answered was %+v: %v", stored, got, err)
		}
	}
	d.dead(slow) // keeps the owner
	if got, err := d.store.Group(d.Context(), g); err != nil || got.Owner != "eve" || got.Note != "call eve" || got.Open != 2 {
		d.Errorf("the group is %+v: %v", got, err)
	}
	if notes := d.notes(recoup.Note{GroupID: g}); len(notes) != 2 || notes[0].Text != "bob" || notes[1].Text != "eve" {
		d.Errorf("notes %+v", notes)
	}
	_, err := d.store.StepGroup(d.Context(), g, func(c recoup.DeadLetterGroup) (recoup.DeadLetterGroup, []recoup.Note, error) { return c, nil, errNo })
	if !errors.Is(err, errNo) {
		d.Errorf("refused with %v", err)
	}
	if _, err := d.store.StepGroup(d.Context(), d.id(), own("x")); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("an unknown group is answered with %v", err)
	}
}

func letterRegroup(d *letterDriver) {
	l := d.dead(slow)
	d.dead(slow)
	d.validated(l.Dead.ErrorID)
	d.replayed(1, l.Dead.ErrorID)
	d.wait(time.Hour)
	f := malformed
	f.Token = d.claim(1)[0].LeaseToken
	_, err := d.stepWork(l.Dead.WorkID, d.fail(l.Dead.WorkID, f))
	d.must(err)
	for _, row := range []struct {
		kind        breakdown
		open, total int64
	}{{slow, 1, 2}, {malformed, 1, 1}} {
		g, err := d.store.Group(d.Context(), recoup.GroupID(criticizer, row.kind.Stage, row.kind.Class, row.kind.Signature))
		d.must(err)
		if g.Open != row.open || g.Total != row.total {
			d.Errorf("the group of %s counts %+v", row.kind.Class, g)
		}
	}
}
