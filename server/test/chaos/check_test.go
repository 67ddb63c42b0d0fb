package chaos

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var start = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

func at(second float64) time.Time { return start.Add(time.Duration(second * float64(time.Second))) }

func id(n byte) recoup.ID { return recoup.ID{0: 0x01, 6: 0x70, 8: 0x80, 15: n} }

func term(seq int64, what string, number int64, holder string) TermEntry {
	return TermEntry{Seq: seq, What: what, Number: number, Holder: holder}
}

// record is a history with its end, which a planted bug changes.
type record struct {
	history []Operation
	final   Final
}

// good is a run in which all is well: an error that is claimed, fails, is parked,
// unparked, claimed by another and done; one that stays parked and escalates; an
// entity that is promoted before it is blocked; work that dies and is replayed; two
// leaders; and notices that came once, and twice in the same message.
func good() *record {
	first, second, claimA, claimB := id(1), id(2), id(11), id(12)
	op := func(n float64, client string, kind Kind, key string, outcome Outcome, change ...func(*Operation)) Operation {
		o := Operation{N: int64(n * 10), Client: client, Kind: kind, Key: key, Begin: at(n), End: at(n + 0.5), Outcome: outcome}
		for _, c := range change {
			c(&o)
		}
		return o
	}
	of := func(entity string, i recoup.ID) func(*Operation) {
		return func(o *Operation) { o.Entity, o.ID = entity, i }
	}
	lease := func(token recoup.ID, from, to float64) func(*Operation) {
		return func(o *Operation) { o.Token, o.LeasedAt, o.LeaseEnds = token, at(from), at(to) }
	}
	history := []Operation{
		op(1, "promoter", Promote, "phase-1", OK, of("E-1", id(51)), func(o *Operation) { o.Seq = 1 }),
		op(2, "reporter", Report, id(31).String(), Unknown, of("E-1", recoup.ID{})),
		op(3, "reporter", Report, id(31).String(), OK, of("E-1", first)),
		op(4, "promoter", Promote, "phase-2", Refused, of("E-1", recoup.ID{})),
		op(5, "alice", Claim, "claim-1", OK, of("E-1", first), lease(claimA, 5, 7)),
		op(6, "alice", Extend, "extend-1", OK, of("E-1", first), lease(claimA, 5, 9)),
		op(8, "alice", Fail, "fail-1", OK, of("E-1", first), lease(claimA, 5, 9)),
		op(9, "operator", Park, "park-1", OK, of("E-1", first)),
		op(10, "operator", Unpark, "unpark-1", Unknown, of("E-1", first)),
		op(11, "bob", Claim, "claim-2", OK, of("E-1", first), lease(claimB, 11, 13)),
		op(12, "bob", Succeed, "succeed-1", OK, of("E-1", first), lease(claimB, 11, 13)),
		op(13, "alice", Succeed, "succeed-2", Refused, of("E-1", first), lease(claimA, 5, 9)),
		op(14, "promoter", Promote, "phase-3", OK, of("E-1", id(53)), func(o *Operation) { o.Seq = 6 }),
		op(15, "reporter", Report, id(32).String(), OK, of("E-2", second)),
		op(16, "reporter", Report, id(33).String(), Unknown, of("E-3", recoup.ID{})),
		op(17, "sender", Event, id(41).String(), OK, of("", id(41))),
		op(18, "sender", Event, id(42).String(), Unknown, of("", id(42))),
		op(19, "replayer", Submit, id(61).String(), OK, of("", id(61))),
		op(20, "replayer", Submit, id(62).String(), OK, of("", id(62))),
		op(21, "carol", ClaimWork, "work-1", OK, of("", id(61)), lease(id(13), 21, 23)),
		op(22, "carol", FailWork, "work-2", OK, of("", id(61)), lease(id(13), 21, 23)),
		op(23, "replayer", Triage, "triage-1", OK, of("", id(3))),
		op(24, "replayer", Replay, "replay-1", OK, of("", id(3))),
		op(25, "carol", FinishWork, "work-3", OK, of("", id(61)), lease(id(14), 24, 26)),
		op(26, "carol", FinishWork, "work-4", OK, of("", id(62)), lease(id(15), 25, 27)),
	}
	row := func(seq int64, error recoup.ID, second float64, input, actor, reason string, from, to recoup.State) Transition {
		return Transition{Seq: seq, ErrorID: error, At: at(second), Input: input, Actor: actor, Reason: reason, From: from, To: to}
	}
	by := func(t Transition, worker string, token recoup.ID) Transition {
		t.Worker, t.Attempt = worker, token
		return t
	}
	return &record{history, Final{
		Errors: []Error{
			{ID: first, Table: "t", Entity: "E-1", Correlation: id(31), State: recoup.Archived},
			{ID: second, Table: "t", Entity: "E-2", Correlation: id(32), State: recoup.Escalated, Blocking: true, Owner: "lead", Deadline: true},
			{ID: id(3), Table: deadLetters, Correlation: id(61), State: recoup.Parked, Owner: "team", Deadline: true},
		},
		History: []Transition{
			row(1, first, 3, "report", "key", "", "", recoup.RetryPending),
			by(row(2, first, 8, "fail", "alice", "", recoup.RetryPending, recoup.RetryPending), "alice", claimA),
			row(3, first, 9, "park", "key", "park-1", recoup.RetryPending, recoup.Parked),
			row(4, first, 10, "unpark", "key", "unpark-1", recoup.Parked, recoup.RetryPending),
			by(row(5, first, 12, "succeed", "bob", "", recoup.RetryPending, recoup.Resolved), "bob", claimB),
			row(6, first, 13, "archive", "system", "", recoup.Resolved, recoup.Archived),
			by(row(7, first, 13, "succeed", "system", "LEASE_LOST", recoup.Resolved, recoup.Resolved), "", claimA),
			row(8, second, 15, "report", "key", "", "", recoup.Parked),
			row(9, second, 20, "escalate", "system", "", recoup.Parked, recoup.Escalated),
			row(10, id(3), 22, "report", "key", "", "", recoup.Parked),
		},
		Gate: []GateEntry{
			{2, "E-1", first, true}, {5, "E-1", first, false}, {7, "E-2", second, true},
		},
		Promotions: []Promotion{{1, id(51), "E-1", "phase-1"}, {6, id(53), "E-1", "phase-3"}},
		Events:     []EventRow{{first, id(31)}, {id(43), id(31)}, {second, id(32)}, {id(41), id(44)}, {id(45), id(61)}},
		Letters:    []Letter{{ErrorID: id(3), WorkID: id(61), Step: recoup.StepReplayed, Round: 1, Rounds: 1}},
		Notes:      []Note{{id(3), recoup.StepTriaged, "triage-1"}},
		Replays:    []ReplayRow{{id(71), "replay-1", recoup.ReplayDone}},
		Figures:    []Figure{{"errors", "t ESCALATED", 1, 1}, {"events by day", "s NETWORK_TIMEOUT", 5, 5}},
		Terms: []TermEntry{
			term(1, TermBegins, 1, "n1"), term(2, "ttl", 1, ""), term(3, TermBegins, 1, "n1"),
			term(4, TermBegins, 2, "n2"), term(5, "ttl", 2, ""), term(6, TermEnds, 2, ""),
		},
		Notices: []Notice{
			{ID: id(81), Kind: wire.NoticeParked, To: "team", ErrorID: first, Delivered: true, Attempts: 1},
			{ID: id(82), Kind: wire.NoticeEscalated, To: "lead", ErrorID: second, Delivered: true, Attempts: 2},
		},
		Messages: []SentMessage{{id(91), []recoup.ID{id(81)}}, {id(82), []recoup.ID{id(82)}}, {id(82), []recoup.ID{id(82)}}},
		Bus:      &Bus{Stream: "s", Last: 9},
		Ranges:   []Range{{"s", 6, 9}, {"s", 1, 5}, {"s", 4, 7}},
	}}
}

func TestGoodRunHasNoViolations(t *testing.T) {
	r := good()
	for _, v := range Check(r.history, &r.final) {
		t.Error(Excerpt(v, r.history, &r.final))
	}
}

// drop removes the first element that matches.
func drop[T any](list *[]T, match func(*T) bool) {
	i := slices.IndexFunc(*list, func(t T) bool { return match(&t) })
	*list = slices.Delete(slices.Clone(*list), i, i+1)
}

// of returns the first element that matches.
func of[T any](list []T, match func(*T) bool) *T {
	return &list[slices.IndexFunc(list, func(t T) bool { return match(&t) })]
}

// bug is one, as what it would leave behind, and the rule that finds it.
type bug struct {
	bug, rule string
	plant     func(r *record)
}

var planted = []bug{
	{"a report is lost after it was acknowledged", "acknowledged", func(r *record) {
		drop(&r.final.Errors, func(e *Error) bool { return e.Entity == "E-2" })
	}},
	{"a repeated report makes a second error", "once", func(r *record) {
		e := r.final.Errors[0]
		e.ID = id(99)
		r.final.Errors = append(r.final.Errors, e)
	}},
	{"a repeated report is answered with another error", "one answer", func(r *record) {
		again := *of(r.history, func(o *Operation) bool { return o.Kind == Report && o.Outcome == OK })
		again.ID = id(99)
		r.history = append(r.history, again)
	}},
	{"an error appears that nobody has reported", "asked for", func(r *record) {
		r.final.Errors = append(r.final.Errors, Error{ID: id(99), Table: "t", Correlation: id(98), State: recoup.Parked, Owner: "team"})
	}},
	{"an event is lost after it was acknowledged", "acknowledged", func(r *record) {
		drop(&r.final.Events, func(e *EventRow) bool { return e.ID == id(41) })
	}},
	{"an event is there twice", "once", func(r *record) { r.final.Events = append(r.final.Events, r.final.Events[3]) }},
	{"a failed attempt left no event", "event of each attempt", func(r *record) {
		drop(&r.final.Events, func(e *EventRow) bool { return e.ID == id(43) })
	}},
	{"an act is lost after it was acknowledged", "acknowledged", func(r *record) {
		of(r.final.History, func(t *Transition) bool { return t.Input == "park" }).Reason = "another"
	}},
	{"an act whose answer was lost is done twice", "once", func(r *record) {
		t := *of(r.final.History, func(t *Transition) bool { return t.Input == "unpark" })
		r.final.History = append(r.final.History, t)
	}},
	{"a promotion is lost after it was acknowledged", "acknowledged", func(r *record) { r.final.Promotions = r.final.Promotions[:1] }},
	{"a refused promotion is recorded", "refused", func(r *record) {
		r.final.Promotions = append(r.final.Promotions, Promotion{8, id(52), "E-1", "phase-2"})
	}},
	{"a promotion is recorded past an open blocker", "gate", func(r *record) {
		of(r.history, func(o *Operation) bool { return o.Key == "phase-3" }).Seq = 4
		r.final.Promotions[1].Seq = 4
	}},
	{"a promotion has a number that was drawn too late", "gate order", func(r *record) {
		r.history[0].Seq, r.final.Promotions[0].Seq = 8, 8
	}},
	{"an error blocks, and the gate does not know", "gate", func(r *record) {
		drop(&r.final.Gate, func(g *GateEntry) bool { return g.Entity == "E-2" })
	}},
	{"an error moves as the lifecycle does not allow", "legal", func(r *record) {
		of(r.final.History, func(t *Transition) bool { return t.Input == "succeed" }).Input = "unpark"
	}},
	{"a row of the history is missing", "history", func(r *record) {
		drop(&r.final.History, func(t *Transition) bool { return t.Input == "unpark" })
	}},
	{"an error is not in the state that its history ends in", "history", func(r *record) { r.final.Errors[1].State = recoup.Parked }},
	{"two workers hold one error", "holder", func(r *record) {
		claim := of(r.history, func(o *Operation) bool { return o.Key == "claim-2" })
		claim.LeasedAt = at(6)
	}},
	{"one attempt ends twice", "holder", func(r *record) {
		t := *of(r.final.History, func(t *Transition) bool { return t.Input == "fail" })
		t.Input, t.Seq, t.Worker = "lapse", 20, ""
		r.final.History = append(r.final.History, t)
	}},
	{"a result is taken under a stale token", "holder", func(r *record) {
		of(r.final.History, func(t *Transition) bool { return t.Input == "succeed" }).Attempt = id(11)
	}},
	{"a result is taken under a token that nobody was given", "holder", func(r *record) {
		of(r.final.History, func(t *Transition) bool { return t.Input == "succeed" }).Attempt = id(99)
	}},
	{"work vanishes from the queue", "acknowledged", func(r *record) {
		drop(&r.history, func(o *Operation) bool { return o.Key == "work-4" })
	}},
	{"work that is done is in the queue again", "acknowledged", func(r *record) { r.final.Works = append(r.final.Works, id(62)) }},
	{"a dead letter is lost", "acknowledged", func(r *record) { r.final.Letters = nil }},
	{"a replay failed once and has two rounds", "once", func(r *record) { r.final.Letters[0].Rounds = 2 }},
	{"a replay never ends", "at rest", func(r *record) { r.final.Replays[0].State = recoup.ReplayRunning }},
	{"a count is off by one", "figure", func(r *record) { r.final.Figures[0].Kept++ }},
	{"a rollup is off by one", "figure", func(r *record) { r.final.Figures[1].Kept-- }},
	{"an open error has neither a deadline nor an owner", "owner", func(r *record) { r.final.Errors[1].Owner, r.final.Errors[1].Deadline = "", false }},
	{"an error waits for a retry where no worker finds it", "owner", func(r *record) {
		r.final.Errors[1].State = recoup.RetryPending
	}},
	{"a leader writes after the next term has begun", "term", func(r *record) {
		r.final.Terms[4], r.final.Terms[1] = term(2, TermBegins, 1, "n1"), term(5, "ttl", 1, "")
	}},
	{"two nodes lead in one term", "term", func(r *record) { r.final.Terms[2].Holder = "n3" }},
	{"a leader that has resigned writes", "term", func(r *record) { r.final.Terms = append(r.final.Terms, term(7, "ttl", 2, "")) }},
	{"a notice counts as delivered and was not", "notified", func(r *record) { r.final.Messages = r.final.Messages[1:] }},
	{"a notice is never delivered", "notified", func(r *record) { r.final.Notices[0].Delivered = false }},
	{"nobody is notified of an error that was parked", "notified", func(r *record) {
		r.final.Notices, r.final.Messages = r.final.Notices[1:], r.final.Messages[1:]
	}},
	{"a notice comes again under another id", "one id", func(r *record) { r.final.Messages[2].ID = id(99) }},
}

// TestPlantedBugs: the checker finds each of the bugs, by the rule that it breaks,
// and names operations or rows of it.
func TestPlantedBugs(t *testing.T) {
	for _, p := range slices.Concat(planted, plantedOnBus) {
		t.Run(p.bug, func(t *testing.T) {
			r := good()
			p.plant(r)
			found := Check(r.history, &r.final)
			i := slices.IndexFunc(found, func(v Violation) bool { return v.Rule == p.rule })
			if i < 0 {
				t.Fatalf("not found; what was: %v", found)
			}
			if text := Excerpt(found[i], r.history, &r.final); !strings.HasPrefix(text, found[i].String()) {
				t.Errorf("the excerpt does not begin with what is wrong: %s", text)
			}
		})
	}
}

func TestHistoryIsReadAsItWasWritten(t *testing.T) {
	var file bytes.Buffer
	h := NewHistory(&file)
	h.Record(good().history...)
	read, err := ReadHistory(&file)
	if err != nil || !slices.Equal(read, h.Operations()) {
		t.Errorf("%v: read %d operations of %d", err, len(read), len(h.Operations()))
	}
}
