package conformance

import (
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// RunLetterActs tries by plain SQL what the rules of staged work forbid, as
// a program of somebody else might. raw.Dump returns the rows of its tables.
func RunLetterActs(t *testing.T, s DeadLetters, raw PlainSQL, more ...string) {
	letterScene(t, s)
	before := raw.Dump()
	for _, act := range letterForbidden() {
		if err := raw.Try(act.sql); err == nil || !raw.Refused(err) {
			t.Errorf("%s: answered with %v, want a refusal", act.means, err)
		}
	}
	for _, sql := range more {
		if err := raw.Try(sql); err == nil || !raw.Refused(err) {
			t.Errorf("%s: answered with %v, want a refusal", sql, err)
		}
	}
	for _, act := range letterAllowed() {
		if err := raw.Try(act.sql); err != nil {
			t.Errorf("%s: answered with %v", act.means, err)
		}
	}
	if after := raw.Dump(); after != before {
		t.Errorf("the rows have changed from\n%s\nto\n%s", before, after)
	}
}

// letterScene leaves dead letters in every workflow state, one that is archived, a replay
// under way, one that is done and one without members. Those that statements
// name have a stage of their own.
func letterScene(t *testing.T, s DeadLetters) {
	d := newLetterDriver(t, s)
	of := func(stage string) store.StagedWork {
		f := slow
		f.Stage, f.Payload = stage, []byte("sealed")
		return d.dead(f)
	}
	d.validated(of("triaged").Dead.ErrorID, of("valid").Dead.ErrorID)
	done := of("fetch").Dead.ErrorID
	d.validated(done)
	replay := d.replayed(1, done)
	d.ack(d.claim(1))
	d.steps(replay, d.to(recoup.ReplayDone, 0))
	_, err := d.stepLetter(done, d.move(recoup.StepVerified))
	d.must(err)
	of("new")
	d.must(d.apply(of("archived").Dead.ErrorID, lifecycle.ArchiveNow{By: "ada"}))
	released, pending := of("released").Dead.ErrorID, of("pending").Dead.ErrorID
	d.validated(released, pending)
	d.replayed(1, released, pending)
	d.replayOf()
	d.submit("submitted", 1)
	_, err = d.store.StepGroup(d.Context(), recoup.GroupID(criticizer, "new", slow.Class, slow.Signature),
		func(g recoup.DeadLetterGroup) (recoup.DeadLetterGroup, []recoup.Note, error) {
			return g, []recoup.Note{{GroupID: g.ID, Step: "ASSIGNED", Actor: "ada", At: d.now}}, nil
		})
	d.must(err)
}

// letterAct is an update of the dead letter of a stage.
func letterAct(stage, set string) string {
	return "update recoup.dead_letter set " + set + " where stage = '" + stage + "'"
}

// itemAct is an update of the item of a stage.
func itemAct(stage, set string) string {
	return "update recoup.replay_item set " + set + " where stage = '" + stage + "'"
}

// member is an insert of the dead letter of a stage into the replay of a state.
func member(state, stage string) string {
	return `insert into recoup.replay_item (replay_id, position, error_id, work_id, round, stage, state)
		select r.replay_id, 7, d.error_id, d.work_id, d.round, d.stage, 'PENDING' from recoup.replay r, recoup.dead_letter d
		where r.state = '` + state + `' and d.stage = '` + stage + `'`
}

func letterForbidden() []plainAct {
	return append(append(forbiddenLetters(), forbiddenReplays()...), forbiddenWork()...)
}

func forbiddenLetters() []plainAct {
	return []plainAct{
		{"another error_id", letterAct("new", "error_id = {id}")},
		{"another work_id", letterAct("new", "work_id = {id}")},
		{"another pipeline", letterAct("new", "pipeline = 'other'")},
		{"another payload", letterAct("new", "payload_ref = 'other'")},
		{"another payload hash", letterAct("new", "payload_hash = 'other'")},
		{"another created_at", letterAct("new", "created_at = created_at + {hour}")},
		{"another previous one", letterAct("new", "previous_id = error_id")},
		{"another stage in the same round", letterAct("new", "stage = 'fetch'")},
		{"another class in the same round", letterAct("new", "error_class = 'OTHER'")},
		{"another exhaustion in the same round", letterAct("new", "exhausted = not exhausted")},
		{"a skipped step", letterAct("new", "step = 'REMEDIATED', cause = 'DATA'")},
		{"a triage without a cause", letterAct("new", "step = 'TRIAGED'")},
		{"a skipped round", letterAct("new", "round = 3")},
		{"a round taken back", letterAct("new", "round = 0")},
		{"a round that does not begin new", letterAct("valid", "round = 2")},
		{"a replay without a replay", letterAct("valid", "step = 'REPLAYING'")},
		{"a replay left while it is under way", letterAct("pending", "step = 'VALIDATED'")},
		{"a verification while the error is open", letterAct("valid", "step = 'VERIFIED', closed_at = updated_at")},
		{"an open one closed", letterAct("new", "closed_at = updated_at")},
		{"a verified one reopened", letterAct("fetch", "step = 'NEW', closed_at = null")},
		{"an archived one reopened", letterAct("archived", "closed_at = null")},
		{"an archived one moved on", letterAct("archived", "step = 'TRIAGED', cause = 'DATA'")},
		{"another group", letterAct("new", "group_id = (select group_id from recoup.dead_letter where stage = 'valid')")},
		{"a cause of nothing", letterAct("valid", "cause = 'MAGIC'")},
		{"a deleted dead letter", "delete from recoup.dead_letter where stage = 'new'"},
		{"an archived dead letter deleted", "delete from recoup.dead_letter where stage = 'archived'"},
		{"a dead letter without its error", copyLetter("{id}", "{id}", "NEW")},
		{"a second dead letter of an error", copyLetter("error_id", "{id}", "NEW")},

		{"a changed round", "update recoup.dead_letter_round set last_stack = 'x'"},
		{"a deleted round", "delete from recoup.dead_letter_round"},
		{"a round of another time", `insert into recoup.dead_letter_round (error_id, round, stage, error_class, first_failure_at, last_failure_at, at)
			select error_id, 9, stage, error_class, {time}, {time}, {time} from recoup.dead_letter where stage = 'new'`},
		{"a changed note", "update recoup.dead_letter_note set note = 'x'"},
		{"a deleted note", "delete from recoup.dead_letter_note where error_id is not null"},
		{"a deleted note of a replay", "delete from recoup.dead_letter_note where replay_id is not null"},
		{"a deleted note of a group", "delete from recoup.dead_letter_note where group_id is not null"},
		{"a note about nothing", "insert into recoup.dead_letter_note (step, actor, at) values ('X', 'me', {time})"},
		{"a note about what does not exist", "insert into recoup.dead_letter_note (error_id, step, actor, at) values ({id}, 'X', 'me', {time})"},
		{"a note about two things", `insert into recoup.dead_letter_note (error_id, group_id, step, actor, at)
			select error_id, group_id, 'X', 'me', {time} from recoup.dead_letter where stage = 'new'`},
		{"a group of another kind", "update recoup.dead_letter_group set stage = 'x' where stage = 'new'"},
		{"a group that is younger", "update recoup.dead_letter_group set first_seen_at = first_seen_at + {hour} where stage = 'new'"},
		{"a group last seen before", "update recoup.dead_letter_group set last_seen_at = last_seen_at - {hour} where stage = 'new'"},
		{"a deleted group", "delete from recoup.dead_letter_group where stage = 'new'"},
	}
}

// copyLetter is an insert of a dead letter like the new one.
func copyLetter(id, work, step string) string {
	return `insert into recoup.dead_letter (error_id, work_id, pipeline, stage, error_class, signature, group_id, step, round,
		first_failure_at, last_failure_at, created_at, updated_at)
		select ` + id + `, ` + work + `, pipeline, stage, error_class, signature, group_id, '` + step + `', 1,
		first_failure_at, last_failure_at, created_at, updated_at from recoup.dead_letter where stage = 'new'`
}

func forbiddenReplays() []plainAct {
	const replay = "update recoup.replay set "
	return []plainAct{
		{"a late member", member("RUNNING", "valid")},
		{"a member of a replay that is done", member("DONE", "valid")},
		{"a member of two replays", member("COLLECTING", "pending")},
		{"a verified member", member("COLLECTING", "fetch")},
		{"an archived member", member("COLLECTING", "archived")},
		{"another member", itemAct("pending", "error_id = (select error_id from recoup.dead_letter where stage = 'new')")},
		{"another work of a member", itemAct("pending", "work_id = {id}")},
		{"another stage of a member", itemAct("pending", "stage = 'x'")},
		{"another place of a member", itemAct("pending", "position = 9")},
		{"a member of another replay", itemAct("pending", "replay_id = (select replay_id from recoup.replay where state = 'COLLECTING')")},
		{"a removed member", "delete from recoup.replay_item where stage = 'pending'"},
		{"a removed member of a replay that is done", "delete from recoup.replay_item where stage = 'fetch'"},
		{"another outcome", itemAct("fetch", "state = 'FAILED'")},
		{"no outcome any more", itemAct("fetch", "state = 'RELEASED', ended_at = null")},
		{"an outcome of another time", itemAct("fetch", "ended_at = ended_at + {hour}")},
		{"an outcome of what was not released", itemAct("pending", "state = 'SUCCEEDED', released_at = {time}, ended_at = {time}")},
		{"an outcome without its time", itemAct("released", "state = 'SUCCEEDED'")},
		{"a release taken back", itemAct("released", "state = 'PENDING', released_at = null")},
		{"a release of another step", itemAct("released", "phase = 5")},

		{"a replay of another reason", replay + "reason = 'x' where state = 'RUNNING'"},
		{"a replay by another", replay + "created_by = 'x' where state = 'RUNNING'"},
		{"a replay of something else", replay + "selection = '{}' where state = 'RUNNING'"},
		{"more members than there are", replay + "members = 9 where state = 'RUNNING'"},
		{"a replay that begins with more members than there are", replay + "members = 2, state = 'RUNNING' where state = 'COLLECTING'"},
		{"members added again", replay + "state = 'COLLECTING' where state = 'RUNNING'"},
		{"a replay done before its items", replay + "state = 'DONE', ended_at = {time} where state = 'RUNNING'"},
		{"a replay ended without a time", replay + "state = 'DONE' where state = 'RUNNING'"},
		{"a replay that is done goes on", replay + "state = 'RUNNING', ended_at = null where state = 'DONE'"},
		{"a replay that is done changes", replay + "state_reason = 'x' where state = 'DONE'"},
		{"a deleted replay", "delete from recoup.replay where state = 'RUNNING'"},
		{"a deleted replay that is done", "delete from recoup.replay where state = 'DONE'"},
		{"a replay that begins in the middle", `insert into recoup.replay (replay_id, state, created_at, created_by, reason, state_at, state_by)
			values ({id}, 'RUNNING', {time}, 'me', 'x', {time}, 'me')`},
	}
}

func forbiddenWork() []plainAct {
	return []plainAct{
		{"a changed payload", "update recoup.work_payload set sealed = sealed"},
		{"a payload under another key", "update recoup.work_payload set key_id = 'x'"},
		{"a destroyed payload of an open dead letter", `delete from recoup.work_payload
			where work_id = (select work_id from recoup.dead_letter where stage = 'new')`},
		{"a destroyed payload of work in the queue", `delete from recoup.work_payload
			where work_id = (select work_id from recoup.work where stage = 'submitted')`},
		{"a payload of nothing", "insert into recoup.work_payload (work_id, key_id, sealed, at) select {id}, key_id, sealed, at from recoup.work_payload"},
		{"a payload of an archived dead letter", `insert into recoup.work_payload (work_id, key_id, sealed, at)
			select d.work_id, p.key_id, p.sealed, p.at from recoup.work_payload p, recoup.dead_letter d where d.stage = 'archived'`},
		{"work of a dead letter past its workflow", queueUp("new", "null", "null")},
		{"work that no replay has released", queueUp("pending", "(select replay_id from recoup.replay where state = 'RUNNING')", "error_id")},
		{"work of another replay", "update recoup.work set replay_id = (select replay_id from recoup.replay where state = 'COLLECTING') where stage = 'released'"},
		{"work of another dead letter", "update recoup.work set error_id = {id} where stage = 'released'"},
		{"work of another pipeline", "update recoup.work set pipeline = 'x' where stage = 'submitted'"},
		{"work whose replay waits for it, deleted", "delete from recoup.work where stage = 'released'"},
		{"half a lease", "update recoup.work set lease_token = {id} where stage = 'submitted'"},
		{"a lease that is due before its end", `update recoup.work set lease_token = {id}, leased_at = {time}, lease_ends_at = due_at + {hour}
			where stage = 'submitted'`},
	}
}

// queueUp is an insert of the work of a dead letter into the queue.
func queueUp(stage, replay, id string) string {
	return `insert into recoup.work (work_id, pipeline, stage, replay_id, error_id, created_at, due_at)
		select work_id, pipeline, stage, ` + replay + `, ` + id + `, {time}, {time} from recoup.dead_letter where stage = '` + stage + `'`
}

// letterAllowed are lawful neighbours of what is forbidden.
func letterAllowed() []plainAct {
	return []plainAct{
		{"a triage", letterAct("new", "step = 'TRIAGED', cause = 'DATA'")},
		{"another cause", letterAct("valid", "cause = 'CODE_DEFECT'")},
		{"a step back", letterAct("valid", "step = 'TRIAGED'")},
		{"the next round", letterAct("valid", "round = 2, step = 'NEW'")},
		{"a member", member("COLLECTING", "valid")},
		{"a release", itemAct("pending", "state = 'RELEASED', released_at = {time}")},
		{"a cancelled item", itemAct("pending", "state = 'CANCELLED', ended_at = {time}")},
		{"an outcome", itemAct("released", "state = 'SUCCEEDED', ended_at = {time}")},
		{"a pause", "update recoup.replay set state = 'PAUSED' where state = 'RUNNING'"},
		{"a replay that begins", "update recoup.replay set state = 'RUNNING' where state = 'COLLECTING'"},
		{"a note", `insert into recoup.dead_letter_note (error_id, step, actor, at)
			select error_id, 'X', 'me', {time} from recoup.dead_letter where stage = 'archived'`},
		{"an owner", "update recoup.dead_letter_group set owner = 'ada' where stage = 'new'"},
		{"new work", "insert into recoup.work (work_id, pipeline, stage, created_at, due_at) values ({id}, 'p', 's', {time}, {time})"},
		{"work that is done", "delete from recoup.work where stage = 'submitted'"},
		{"a lease", `update recoup.work set lease_token = {id}, leased_at = {time}, lease_ends_at = due_at + {hour}, due_at = due_at + {hour}
			where stage = 'submitted'`},
	}
}
