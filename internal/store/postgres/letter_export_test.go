package postgres

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/verb"
)

// Steadily is what a claim of staged work says first.
const Steadily = steadily

// PlannedLetters returns what verbs about staged work run against tables that
// grow.
func PlannedLetters(now time.Time, size int, replay, letter, group recoup.ID) []Planned {
	cursor := store.Cursor{At: now.Add(-24 * time.Hour), ID: letter}
	list := []Planned{
		{"claim", claimWork, []any{[]string{"p1", "p2"}, []string{"fetch", "fetch"}, now, size, []*time.Time{nil, &now}}},
		{"leases by token", lockLeases, []any{[][]byte{letter[:]}}},
		{"work that waits", selectPlain, []any{[][]byte{letter[:]}}},
		{"lock", lockLetters, []any{[][]byte{letter[:]}, [][]byte{letter[:]}}},
		{"lock the queue", lockQueue, []any{[][]byte{letter[:]}, [][]byte{letter[:]}}},
		{"read", selectParts, []any{[][]byte{letter[:]}, [][]byte{letter[:]}}},
		{"previous", selectPrevious, []any{[][]byte{letter[:]}}},
		{"release", releaseItems, []any{replay[:], size, 2, now}},
		{"end", selectEndable, []any{replay[:], now, size}},
		planned("groups", func(v verb.Verbs) {
			_, _, _ = v.Groups(context.Background(), store.GroupFilter{}, store.Page{Limit: size})
		}),
		planned("replays", func(v verb.Verbs) {
			_, _, _ = v.Replays(context.Background(), store.ReplayFilter{}, store.Page{Limit: size})
		}),
		{"levels", selectLetterLevels, nil},
		{"untriaged", selectUntriaged, nil},
		{"lane names", selectLaneNames, []any{20}},
		{"lanes", selectLaneLevels, []any{now, size / 2, []string{"p1", "p2"}, []string{"fetch", "fetch"}}},
		{"lanes beyond", selectBeyond, []any{now, size, "p1", "fetch"}},
		{"replays by state", selectReplayLevels, []any{[]string{"RUNNING", "DONE"}, size}},
		{"outcomes", selectOutcomes, nil},
		{"due replays", "select replay_id from recoup.replay where next_at <= $1 order by next_at limit 50", []any{now}},
	}
	list = append(list, planned("groups of some pipelines", func(v verb.Verbs) {
		_, _, _ = v.Groups(context.Background(), store.GroupFilter{Within: &store.Pipelines{Names: []string{"p1", "p2"}}}, store.Page{Limit: size, Cursor: cursor})
	}))
	for name, f := range map[string]store.LetterFilter{
		"all": {}, "pipeline": {Pipeline: "p1"}, "stage": {Stage: "llm"}, "class": {Class: "C1"}, "step": {Step: store.StepTriaged},
		"verified": {Step: store.StepVerified}, "group": {Group: group}, "age": {Before: now.Add(-24 * time.Hour)},
		"some pipelines": {Within: &store.Pipelines{Names: []string{"p1", "p2"}}},
	} {
		for at, page := range map[string]store.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: cursor}} {
			q := lettersQuery(f, page)
			list = append(list, Planned{"letters by " + name + at, q.String(), q.args})
		}
	}
	return list
}
