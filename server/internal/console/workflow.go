package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// guide is the workflow of a dead letter, or of all of a group, as five steps of which none
// can be skipped: a step has its form only while something waits for it, and of a group the
// first of those is open.
type guide struct {
	At         string // where its forms go
	Many       bool   // it is that of a group
	Stage      string
	Class      recoup.Code
	Cause      recoup.Cause   // that the form of the remediation asks for
	Causes     []recoup.Cause // of those that wait for it
	Steps      []guided
	Refused    string // why the visitor may take none
	Typed      url.Values
	CSRF       string
	Now        time.Time
	ReplayedBy recoup.ID // the replay that is under way
}

// guided is a step of the workflow.
type guided struct {
	Name, Title, About string
	Kind               string // past, now or next
	Waiting            tallied
	Underway           tallied // in a replay
	Later              bool    // of a group: others wait for a step before it
	Note               *recoup.Note
	First              string // what has to come before it
	Problem            string // with the form that was sent
}

// tallied is how many there are, or at least are.
type tallied struct {
	N    int
	More bool
}

func (t tallied) String() string {
	if t.More {
		return fmt.Sprintf("%d+ dead letters", t.N)
	}
	return plural(int64(t.N), "dead letter")
}

// workflow is the five steps, and the state that waits for each.
func workflow() []struct {
	name, title, about string
	waits, reached     recoup.WorkflowStep
} {
	return []struct {
		name, title, about string
		waits, reached     recoup.WorkflowStep
	}{
		{"triage", "Triage", "What is the root cause? Confirm what failed.", recoup.StepNew, recoup.StepTriaged},
		{"remediate", "Remediate", "What was done about the cause, and where is that documented?", recoup.StepTriaged, recoup.StepRemediated},
		{"validate", "Validate", "Is a replay safe: what if the work was half done already?", recoup.StepRemediated, recoup.StepValidated},
		{"replay", "Replay", "The work is run again from the stage that failed, a canary first.", recoup.StepValidated, recoup.StepReplayed},
		{"verify", "Verify", "Has the result arrived where it should? Then it is over; if not, it goes back to triage.", recoup.StepReplayed, recoup.StepVerified},
	}
}

// newGuide makes the steps of dead letters that stand where the counts say. The notes are
// those of one of them.
func newGuide(v *Request, counts map[recoup.WorkflowStep]tallied, notes []recoup.Note) guide {
	g := guide{CSRF: v.session.csrf(), Now: v.now, Refused: v.who.Refused()}
	first, ahead := "", 0
	for _, w := range workflow() {
		if first == "" && counts[w.waits].N > 0 {
			first = w.title
		}
	}
	for _, w := range slices.Backward(workflow()) {
		s := guided{Name: w.name, Title: w.title, About: w.about, Kind: "next", Waiting: counts[w.waits], First: first, Later: first != "" && first != w.title}
		ahead += counts[w.reached].N
		if w.name == "replay" {
			s.Underway = counts[recoup.StepReplaying]
		}
		switch {
		case s.Waiting.N > 0 || s.Underway.N > 0:
			s.Kind = "now"
		case ahead > 0:
			s.Kind, s.Note = "past", lastNote(notes, w.reached)
		case first == "" && w.name == "verify":
			s.First = "Replay"
		}
		ahead += s.Underway.N
		g.Steps = append(g.Steps, s)
	}
	slices.Reverse(g.Steps)
	return g
}

// lastNote is the last note of a step, if there is one.
func lastNote(notes []recoup.Note, step recoup.WorkflowStep) *recoup.Note {
	for i := range slices.Backward(notes) {
		if notes[i].Step == step {
			return &notes[i]
		}
	}
	return nil
}

// refuse shows what is wrong with the form of a step, beside what was typed.
func (g *guide) refuse(step, wrong string, typed url.Values) {
	g.Typed = typed
	for i := range g.Steps {
		if g.Steps[i].Name == step {
			g.Steps[i].Problem = wrong
		}
	}
}

// Said is what was typed into a field that was refused.
func (g guide) Said(field string) string { return g.Typed.Get(field) }

// stepForm is the form of a step.
type stepForm struct {
	Guide guide
	Name  string
}

// noteList is what people noted, as pages show it.
type noteList struct {
	Now   time.Time
	Notes []recoup.Note
}

// causes are the root causes that a triage chooses from.
func causes() []struct{ Value, Label string } {
	return []struct{ Value, Label string }{
		{string(recoup.CauseTransient), "Transient: an upstream was away"},
		{string(recoup.CauseData), "Data: what came in was wrong"},
		{string(recoup.CauseAuthConfig), "Credentials or configuration"},
		{string(recoup.CauseCodeDefect), "A defect in the code"},
	}
}

// field is a field of a remediation that a cause asks for.
type field struct{ Name, Label string }

// Fields are what a remediation has to say, which depends on the cause.
func (g guide) Fields() []field {
	return map[recoup.Cause][]field{
		recoup.CauseTransient:  {{"upstream_checked", "How was the upstream seen to be back?"}},
		recoup.CauseData:       {{"corrected", "What was corrected?"}},
		recoup.CauseAuthConfig: {{"fixed", "What was rotated or fixed?"}},
		recoup.CauseCodeDefect: {{"release", "Which release has the fix?"}, {"validated_in", "Where was the fix validated?"}},
	}[g.Cause]
}

// The acts that a form describes.

func triageOf(f url.Values) recoup.Triage {
	t := recoup.Triage{Cause: recoup.Cause(f.Get("cause")), Stage: f.Get("stage"), Class: recoup.Code(f.Get("error_class")), Note: f.Get("note")}
	if spent := f.Get("exhausted"); spent != "" {
		t.Exhausted = new(spent == "yes")
	}
	return t
}

func remediationOf(f url.Values) recoup.Remediation {
	return recoup.Remediation{
		Link: strings.TrimSpace(f.Get("link")), UpstreamChecked: f.Get("upstream_checked"), Corrected: f.Get("corrected"),
		Fixed: f.Get("fixed"), Release: f.Get("release"), ValidatedIn: f.Get("validated_in"), Note: f.Get("note"),
	}
}

func validationOf(f url.Values) recoup.Validation {
	return recoup.Validation{Idempotent: f.Get("idempotent") == "yes", DuplicateSafe: f.Get("duplicate_safe"), Note: f.Get("note")}
}

func verificationOf(f url.Values) recoup.Verification {
	return recoup.Verification{Outcome: recoup.Delivery(f.Get("outcome")), Note: f.Get("note"), Link: strings.TrimSpace(f.Get("link"))}
}

// takeStep takes a step of one dead letter.
func (v *Request) takeStep(id recoup.ID, step string, f url.Values) (err error) {
	switch step {
	case "triage":
		_, err = v.client.DeadLetters.Triage(v.ctx(), id, triageOf(f))
	case "remediate":
		_, err = v.client.DeadLetters.Remediate(v.ctx(), id, remediationOf(f))
	case "validate":
		_, err = v.client.DeadLetters.Validate(v.ctx(), id, validationOf(f))
	case "verify":
		_, err = v.client.DeadLetters.Verify(v.ctx(), id, verificationOf(f))
	default:
		err = errNoStep()
	}
	return err
}

// takeGroupStep takes a step of a group, or previews it.
func (v *Request) takeGroupStep(id recoup.ID, step string, f url.Values, how recoup.ForGroup) (recoup.BulkResult, error) {
	switch step {
	case "triage":
		return v.client.DeadLetterGroups.Triage(v.ctx(), id, recoup.GroupTriage{Triage: triageOf(f), ForGroup: how})
	case "remediate":
		return v.client.DeadLetterGroups.Remediate(v.ctx(), id, recoup.GroupRemediation{Remediation: remediationOf(f), ForGroup: how})
	case "validate":
		return v.client.DeadLetterGroups.Validate(v.ctx(), id, recoup.GroupValidation{Validation: validationOf(f), ForGroup: how})
	case "verify":
		return v.client.DeadLetterGroups.Verify(v.ctx(), id, recoup.GroupVerification{Verification: verificationOf(f), ForGroup: how})
	}
	return recoup.BulkResult{}, errNoStep()
}

func errNoStep() error {
	return fault.New(fault.CodeNotFound, "The workflow has no such step: it has triage, remediate, validate, replay and verify.")
}

// pair is a field of a stored object, as text.
type pair struct{ Name, Value string }

// pairs are the fields of a stored object, by name.
func pairs(object recoup.JSON) []pair {
	var fields map[string]any
	if json.Unmarshal([]byte(object), &fields) != nil {
		return nil
	}
	var list []pair
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value, isText := fields[name].(string)
		if !isText {
			b, _ := json.Marshal(fields[name]) // it was read from JSON just now
			value = string(b)
		}
		list = append(list, pair{strings.ReplaceAll(name, "_", " "), value})
	}
	return list
}
