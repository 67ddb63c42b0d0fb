package postgres

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// Steadily is what a claim of staged work says first.
const Steadily = steadily

// PlannedLetters returns what verbs about staged work run against tables that
// grow.
func PlannedLetters(now time.Time, size int, replay, letter, group recoup.ID) []Planned {
	cursor := sqldb.Cursor{At: now.Add(-24 * time.Hour), ID: letter}
	steps := func(v sqlops.Ops) {
		refuse := func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
			return l, store.StagedEffects{}, store.ErrRefused
		}
		_, _ = v.StepStaged(context.Background(), now, []store.StagedStep{{ErrorID: letter, Decide: refuse}, {WorkID: letter, Decide: refuse}})
	}
	figures := func(v sqlops.Ops) { _, _ = v.StagedFigures(context.Background(), now) }
	moving := func(v sqlops.Ops) { _, _ = v.Moving(context.Background(), size) }
	list := []Planned{
		plannedAs("replays that move", 1, moving),
		plannedAs("letters that move", 4, moving),
		plannedAs("groups that move", 5, moving),
		{"claim", claimWork, []any{[]string{"p1", "p2"}, []string{"fetch", "fetch"}, now, size, []*time.Time{nil, &now}}},
		{"unclaimed", selectUnclaimedWork, []any{[]string{"p1", "p2"}, []string{"fetch", "fetch"}, now, size}},
		{"leases by token", lockLeases, []any{[][]byte{letter[:]}}},
		{"work that waits", selectPlain, []any{[][]byte{letter[:]}}},
		plannedAs("lock", 0, steps),
		plannedAs("lock the queue", 1, steps),
		plannedAs("previous", 3, steps),
		plannedAs("read", 4, steps),
		plannedAs("release", 2, func(v sqlops.Ops) {
			_, _ = v.StepReplay(context.Background(), now, replay, func(store.ReplayStatus, time.Time) (recoup.Replay, store.ReplayEffects, error) {
				return recoup.Replay{ID: replay}, store.ReplayEffects{Release: size}, nil
			})
		}),
		planned("end", func(v sqlops.Ops) { _, _ = v.EndItems(context.Background(), now, replay, size, nil) }),
		planned("groups", func(v sqlops.Ops) {
			_, _, _ = v.Groups(context.Background(), store.GroupFilter{}, sqldb.Page{Limit: size})
		}),
		planned("replays", func(v sqlops.Ops) {
			_, _, _ = v.Replays(context.Background(), store.ReplayFilter{}, sqldb.Page{Limit: size})
		}),
		plannedAs("levels", 0, figures),
		plannedAs("untriaged", 1, figures),
		{"lane names", selectLaneNames, []any{20}},
		{"lanes", selectLaneLevels, []any{now, size / 2, []string{"p1", "p2"}, []string{"fetch", "fetch"}}},
		{"lanes beyond", selectBeyond, []any{now, size, "p1", "fetch"}},
		plannedAs("replays by state", 2, figures),
		plannedAs("outcomes", 2+len(recoup.ReplayStates()), figures),
		{"due replays", "select replay_id from recoup.replay where next_at <= $1 order by next_at limit 50", []any{now}},
	}
	list = append(list, planned("groups of some pipelines", func(v sqlops.Ops) {
		_, _, _ = v.Groups(context.Background(), store.GroupFilter{Within: &store.Pipelines{Names: []string{"p1", "p2"}}}, sqldb.Page{Limit: size, Cursor: cursor})
	}))
	for name, f := range map[string]store.DeadLetterFilter{
		"all": {}, "pipeline": {DeadLetterFilter: recoup.DeadLetterFilter{Pipeline: "p1"}}, "stage": {DeadLetterFilter: recoup.DeadLetterFilter{Stage: "llm"}}, "class": {DeadLetterFilter: recoup.DeadLetterFilter{Class: "C1"}}, "step": {DeadLetterFilter: recoup.DeadLetterFilter{Step: recoup.StepTriaged}},
		"verified": {DeadLetterFilter: recoup.DeadLetterFilter{Step: recoup.StepVerified}}, "group": {DeadLetterFilter: recoup.DeadLetterFilter{GroupID: group}}, "age": {DeadLetterFilter: recoup.DeadLetterFilter{Before: now.Add(-24 * time.Hour)}},
		"some pipelines": {Within: &store.Pipelines{Names: []string{"p1", "p2"}}},
	} {
		for at, page := range map[string]sqldb.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: cursor}} {
			list = append(list, planned("letters by "+name+at, func(v sqlops.Ops) { _, _, _ = v.DeadLetters(context.Background(), f, page) }))
		}
	}
	return list
}
