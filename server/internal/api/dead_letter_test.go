package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Spec 002, 8.4: each field of a dead letter comes back as it was sent, cleaned, and
// what must not be there is refused or left out.
func TestDeadLetterFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.breakdown(w.pipeline(""))
	in.FirstFailureAt, in.LastFailureAt = w.clock().Add(-time.Minute), w.clock().Add(-time.Second)
	in.LastStack = "calling openai: Authorization: Bearer sk-proj-abcdefghijklmnopqrstuvwx0123456789"
	in.Context = map[string]any{
		"stage": "llm", "attempts": map[string]any{"fetch": 1, "llm": 5}, "upstream_status": 503, "prompt_hash": "0123456789abcdef",
		"prompt": "write to ada@example.com", "authorization": "Bearer x",
	}
	var d recoup.DeadLetter
	w.post("/v1/dead-letters", in).ok(&d)
	var all recoup.DeadLetterDetails
	answer := w.get("/v1/dead-letters/" + d.ErrorID.String()).ok(&all)
	round := all.Rounds[0]
	for field, ok := range map[string]bool{
		"error_class":       all.Class == fault.CodeValidationError && round.Class == all.Class,
		"last_stack":        strings.HasPrefix(round.LastStack, "calling openai: "),
		"sanitized_context": string(round.Context) == `{"attempts":{"fetch":1,"llm":5},"prompt_hash":"0123456789abcdef","stage":"llm","upstream_status":503}`,
		"first_failure_at":  all.FirstFailureAt.Equal(in.FirstFailureAt) && round.FirstFailureAt.Equal(in.FirstFailureAt),
		"last_failure_at":   all.LastFailureAt.Equal(in.LastFailureAt) && round.LastFailureAt.Equal(in.LastFailureAt),
		"stage":             all.Stage == "llm" && round.Stage == "llm",
		"pipeline":          all.Pipeline == in.Pipeline,
		"payload_ref":       all.PayloadRef == in.PayloadRef,
		"payload_hash":      all.PayloadHash == in.PayloadHash,
		"next_step":         all.Next == "triage" && all.Step == recoup.StepNew,
	} {
		if !ok {
			t.Errorf("%s is not as it was sent: %s", field, answer.Body)
		}
	}
	for _, secret := range []string{"sk-proj", "ada@example.com", "write to", "Bearer", `{"a":1}`} {
		if strings.Contains(answer.Body.String(), secret) {
			t.Errorf("%q leaks: %s", secret, answer.Body)
		}
	}
	for name, row := range map[string]struct {
		change            func(*recoup.StageFailure)
		field, constraint string
	}{
		"no work":          {func(n *recoup.StageFailure) { n.WorkID = [16]byte{} }, "work_id", "required"},
		"no pipeline":      {func(n *recoup.StageFailure) { n.Pipeline = "" }, "pipeline", "required"},
		"no stage":         {func(n *recoup.StageFailure) { n.Stage = "" }, "stage", "required"},
		"a stage of words": {func(n *recoup.StageFailure) { n.Stage = "two words" }, "stage", "pattern"},
		"no class":         {func(n *recoup.StageFailure) { n.Class = "" }, "error_class", "pattern"},
		"a class of words": {func(n *recoup.StageFailure) { n.Class = "it broke!" }, "error_class", "pattern"},
		"a hash of words":  {func(n *recoup.StageFailure) { n.PayloadHash = "xyz" }, "payload_hash", "pattern"},
		"a reference that opens": {func(n *recoup.StageFailure) {
			n.PayloadRef = "https://b.s3.amazonaws.com/k?X-Amz-Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		}, "payload_ref", "no_secret"},
		"no stack":                   {func(n *recoup.StageFailure) { n.LastStack = " " }, "last_stack", "required"},
		"no context":                 {func(n *recoup.StageFailure) { n.Context = nil }, "sanitized_context", "required"},
		"no attempts":                {func(n *recoup.StageFailure) { n.Context = map[string]any{"attempts": map[string]any{"fetch": 1}} }, "sanitized_context.attempts", "required"},
		"no first failure":           {func(n *recoup.StageFailure) { n.FirstFailureAt = time.Time{} }, "first_failure_at", "required"},
		"no last failure":            {func(n *recoup.StageFailure) { n.LastFailureAt = time.Time{} }, "last_failure_at", "required"},
		"a table of no dead letters": {func(n *recoup.StageFailure) { n.Table = people }, "table", "dead_letters"},
	} {
		bad := w.breakdown(w.pipeline(""))
		row.change(&bad)
		e := w.post("/v1/dead-letters", bad).failed(http.StatusBadRequest, fault.CodeValidationError)
		if !slices.ContainsFunc(e.Fields, func(f fault.FieldError) bool { return f.Field == row.field && f.Constraint == row.constraint }) {
			t.Errorf("%s: complained about %+v, want %s %s", name, e.Fields, row.field, row.constraint)
		}
	}
}

// Spec 002, 8.5: from every step, each act that is not its turn is refused, and says
// which step is missing, or why there is no way back.
func TestDeadLetterSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acts := []struct {
		name string
		body any
	}{
		{"triage", recoup.Triage{Cause: recoup.CauseData, Stage: "llm", Class: "VALIDATION_ERROR", Exhausted: new(bool)}},
		{"remediate", recoup.Remediation{Link: "INC-1", Corrected: "the title"}},
		{"validate", recoup.Validation{Idempotent: true}},
		{"replay", recoup.SingleReplay{Reason: "corrected"}},
		{"verify", recoup.Verification{Outcome: "DELIVERED", Note: "seen"}},
	}
	for step, want := range map[recoup.WorkflowStep][5]string{ // of each act: ok, the step that is missing, or another reason
		recoup.StepNew:        {"ok", "triage", "triage", "triage", "triage"},
		recoup.StepTriaged:    {"ok", "ok", "remediate", "remediate", "remediate"},
		recoup.StepRemediated: {"ok", "ok", "ok", "validate", "validate"},
		recoup.StepValidated:  {"ok", "ok", "ok", "ok", "replay"},
		recoup.StepReplaying:  {"REPLAYING", "REPLAYING", "REPLAYING", "REPLAYING", "replay"},
		recoup.StepReplayed:   {"REPLAYED", "REPLAYED", "REPLAYED", "REPLAYED", "ok"},
		recoup.StepVerified:   {"CLOSED", "CLOSED", "CLOSED", "CLOSED", "CLOSED"},
	} {
		d := w.letter(step)
		for i, act := range acts {
			if want[i] == "ok" {
				continue // see the examples
			}
			e := w.post("/v1/dead-letters/"+d.ErrorID.String()+"/"+act.name, act.body).failed(http.StatusConflict, fault.CodeInvalidTransition)
			missing, reason := e.Details["missing_step"], e.Details["reason"]
			if got := fmt.Sprint(missing); missing != nil && got == want[i] || missing == nil && reason == want[i] {
				continue
			}
			t.Errorf("%s in step %s: %s %v, want %s", act.name, step, e.Message, e.Details, want[i])
		}
		if got := w.details(d); got.Step != step || len(got.Notes) != len(w.details(d).Notes) {
			t.Errorf("what was refused made %s of %s", got.Step, step)
		}
	}
}

// In mid-replay nobody archives a dead letter: the answer names the replay, and one of
// many is refused by itself.
func TestDeadLetterArchive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.letter(recoup.StepReplaying)
	e := w.post("/v1/errors/"+d.ErrorID.String()+"/archive", recoup.Act{Reason: "enough"}).failed(http.StatusConflict, fault.CodeInvalidTransition)
	if e.Details["replay_id"] != w.details(d).ReplayID.String() || !strings.Contains(e.Message, "cancel the replay first") {
		t.Errorf("refused with %s %v", e.Message, e.Details)
	}
	var many recoup.BulkResult
	other := w.letter(recoup.StepNew)
	w.post("/v1/errors/archive", recoup.BulkAct{IDs: []recoup.ID{d.ErrorID, other.ErrorID}, Act: recoup.Act{Reason: "enough"}}).ok(&many)
	if many.Applied != 1 || len(many.Refused) != 1 || many.Refused[0].ID != d.ErrorID {
		t.Errorf("many are answered with %+v", many)
	}
	notes := w.details(other).Notes
	if len(notes) != 1 || notes[0].Step != "ARCHIVED" || notes[0].Text != "enough" {
		t.Errorf("notes are %+v", notes)
	}
}

func (w *world) details(d recoup.DeadLetter) (all recoup.DeadLetterDetails) {
	w.Helper()
	w.get("/v1/dead-letters/" + d.ErrorID.String()).ok(&all)
	return all
}

// Spec 002, 8.5, step 2: each cause asks for what was done about it, and for nothing
// else.
func TestRemediationFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	full := recoup.Remediation{Link: "INC-1", UpstreamChecked: "a", Corrected: "b", Fixed: "c", Release: "d", ValidatedIn: "e"}
	for cause, row := range map[recoup.Cause]struct {
		good   recoup.Remediation
		demand []string
	}{
		recoup.CauseTransient:  {recoup.Remediation{UpstreamChecked: "their status page"}, []string{"upstream_checked"}},
		recoup.CauseData:       {recoup.Remediation{Corrected: "the title"}, []string{"corrected"}},
		recoup.CauseAuthConfig: {recoup.Remediation{Fixed: "the key was rotated"}, []string{"fixed"}},
		recoup.CauseCodeDefect: {recoup.Remediation{Release: "v1.2.3", ValidatedIn: "staging"}, []string{"release", "validated_in"}},
	} {
		d := w.letter(recoup.StepNew)
		at := "/v1/dead-letters/" + d.ErrorID.String()
		w.post(at+"/triage", recoup.Triage{Cause: cause, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted}).ok()
		about := func(body recoup.Remediation) (fields []string) {
			for _, f := range w.post(at+"/remediate", body).failed(http.StatusBadRequest, fault.CodeValidationError).Fields {
				fields = append(fields, f.Field)
			}
			slices.Sort(fields)
			return fields
		}
		if got := about(row.good); !slices.Equal(got, []string{"link"}) {
			t.Errorf("%s without a ticket: %v", cause, got)
		}
		if got := about(recoup.Remediation{Link: "INC-1"}); !slices.Equal(got, row.demand) {
			t.Errorf("%s with nothing done: %v, want %v", cause, got, row.demand)
		}
		if got := about(full); len(got) != 5-len(row.demand) || slices.ContainsFunc(row.demand, func(f string) bool { return slices.Contains(got, f) }) {
			t.Errorf("%s with everything done: %v", cause, got)
		}
		row.good.Link = "https://tickets.example/1"
		w.post(at+"/remediate", row.good).ok(&d)
		if d.Step != recoup.StepRemediated {
			t.Errorf("%s: it is %s", cause, d.Step)
		}
		w.post(at+"/validate", recoup.Validation{}).invalid("idempotent", "required")
	}
}

// What is counted of staged work can be scraped.
func TestDeadLetterMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.letter(recoup.StepVerified)
	w.letter(recoup.StepReplaying)
	fresh := w.letter(recoup.StepNew)
	w.wait(time.Minute)
	w.submit("newsletter", "send")
	w.submit("newsletter", "send")
	var out recoup.WorkClaimed
	w.post("/v1/work/claim", recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: "newsletter", Stage: "send"}}, Worker: "w", Limit: 1}).ok(&out)
	figures := w.get("/metrics").Body.String()
	for _, want := range []string{
		`recoup_dead_letters{class="VALIDATION_ERROR",pipeline="` + fresh.Pipeline + `",step="NEW"} 1`,
		`recoup_dead_letters_untriaged_age_seconds 60`,
		`recoup_work{pipeline="newsletter",stage="send",state="queued"} 1`, `recoup_work{pipeline="newsletter",stage="send",state="leased"} 1`,
		`recoup_work{pipeline="newsletter",stage="send",state="lapsed"} 0`,
		`recoup_replays{state="RUNNING"} 2`, `recoup_replays{state="DONE"} 0`,
		`recoup_replay_items_total{outcome="SUCCEEDED"} 1`, `recoup_replay_items_total{outcome="REPEATED"} 0`,
	} {
		if !strings.Contains(figures, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(figures, d.Pipeline) {
		t.Error("a closed dead letter is counted")
	}
}

// Spec 002, 8.5, step 4: replayed work comes with the context of its last failure,
// and a failure of claimed work needs the parts of a dead letter as any other does.
func TestReplayedWorkHasItsContext(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		d := w.letter(recoup.StepReplaying)
		held := w.claimWork(d.Pipeline, d.Stage)[0]
		if want := `{"attempts":{"llm":1},"upstream":"openai","upstream_status":422}`; string(held.Context) != want {
			w.Errorf("the context is %s, want %s", held.Context, want)
		}
		bare := recoup.WorkResult{LeaseToken: held.LeaseToken, Failure: &recoup.StageFailure{Stage: "llm", Class: "VALIDATION_ERROR"}}
		e := w.post("/v1/work/"+held.WorkID.String()+"/fail", bare).failed(http.StatusBadRequest, fault.CodeValidationError)
		if len(e.Fields) != 4 {
			w.Errorf("complained about %+v", e.Fields)
		}
		if fresh := w.held(); fresh.Context != "" {
			w.Errorf("new work has the context %s", fresh.Context)
		}
	})
}

// Triage confirms class, stage and exhaustion: each is required, and held to what the
// dead letter says, whose value the refusal names; of a group as of one.
func TestTriageConfirms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.letter(recoup.StepNew)
	for _, at := range []string{"/v1/dead-letters/" + d.ErrorID.String() + "/triage", "/v1/dead-letter-groups/" + d.GroupID.String() + "/triage"} {
		for field, row := range map[string]struct{ other, names string }{
			"stage": {`"fetch"`, "llm"}, "error_class": {`"NETWORK_TIMEOUT"`, "VALIDATION_ERROR"}, "exhausted": {"true", "false"},
		} {
			body := map[string]any{"cause": "DATA", "stage": "llm", "error_class": "validation_error", "exhausted": false}
			delete(body, field)
			if got := w.post(at, body).failed(http.StatusBadRequest, fault.CodeValidationError).Fields; len(got) != 1 || got[0].Field != field || got[0].Constraint != "required" {
				t.Errorf("%s without %s: %+v", at, field, got)
			}
			body[field] = json.RawMessage(row.other)
			answer := w.post(at, body)
			if field == "exhausted" && strings.Contains(at, "groups") { // its dead letters differ in that
				var r recoup.BulkResult
				answer.ok(&r)
				if r.Applied != 0 || !strings.Contains(r.Refused[0].Reason, row.names) {
					t.Errorf("%s with another %s: %+v", at, field, r)
				}
				continue
			}
			if got := answer.failed(http.StatusBadRequest, fault.CodeValidationError).Fields; len(got) != 1 || got[0].Field != field || !strings.Contains(got[0].Message, row.names) {
				t.Errorf("%s with another %s: %+v", at, field, got)
			}
		}
	}
}
