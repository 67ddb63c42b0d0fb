package console

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"sync"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// groupPage is dead letters that failed alike, and the workflow of all of them.
type groupPage struct {
	recoup.DeadLetterGroupDetails
	Trend   trend
	Guide   guide
	Letters []recoup.DeadLetter
	At      recoup.WorkflowStep // that the list is narrowed to
	States  []groupState
	First   string
	More    string
	Refused string
	Problem string // with the owner or the note
}

// groupState is how many of the group stand somewhere, and where they are listed.
type groupState struct {
	State recoup.WorkflowStep
	N     tallied
	Href  string
}

// groupSample is how many of each state of the workflow are looked at.
const groupSample = 100

func viewGroup(v *Request) (any, error) {
	id, err := v.pathID("a group of dead letters")
	if err != nil {
		return nil, err
	}
	return oneGroup(v, id)
}

func oneGroup(v *Request, id recoup.ID) (groupPage, error) {
	q := v.r.URL.Query()
	p := groupPage{At: recoup.WorkflowStep(q.Get("step")), Refused: v.who.Refused()}
	var err error
	if p.DeadLetterGroupDetails, err = v.client.DeadLetterGroups.Get(v.ctx(), id); err != nil {
		return p, err
	}
	p.Trend = newTrend(p.Days, v.now)
	page, err := v.client.DeadLetters.List(v.ctx(), recoup.DeadLetterFilter{GroupID: id, Step: p.At}, client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return p, err
	}
	p.Letters = page.DeadLetters
	at := url.Values{}
	if p.At != "" {
		at.Set("step", string(p.At))
	}
	if q.Has("cursor") {
		p.First = groupAddress(id, at)
	}
	if page.Next != "" {
		at.Set("cursor", page.Next)
		p.More = groupAddress(id, at)
	}
	return p, p.guided(v, recoup.Cause(q.Get("cause")))
}

// guided finds out where the dead letters of the group stand.
func (p *groupPage) guided(v *Request, cause recoup.Cause) error {
	states := []recoup.WorkflowStep{recoup.StepNew, recoup.StepTriaged, recoup.StepRemediated, recoup.StepValidated, recoup.StepReplaying, recoup.StepReplayed}
	found := make([]recoup.DeadLetterPage, len(states))
	failed := make([]error, len(states))
	var all sync.WaitGroup
	for i, s := range states {
		all.Go(func() {
			found[i], failed[i] = v.client.DeadLetters.List(v.ctx(), recoup.DeadLetterFilter{GroupID: p.ID, Step: s}, client.Page{Limit: groupSample})
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	counts := map[recoup.WorkflowStep]tallied{}
	var furthest recoup.ID
	var causes []recoup.Cause
	for i, s := range states {
		counts[s] = tallied{len(found[i].DeadLetters), found[i].Next != ""}
		if counts[s].N == 0 {
			continue
		}
		furthest = found[i].DeadLetters[0].ErrorID
		p.States = append(p.States, groupState{s, counts[s], groupAddress(p.ID, url.Values{"step": {string(s)}})})
		for _, d := range found[i].DeadLetters {
			if s == recoup.StepTriaged && !slices.Contains(causes, d.Cause) {
				causes = append(causes, d.Cause)
			}
		}
	}
	notes, err := notesOf(v, furthest)
	if err != nil {
		return err
	}
	p.Guide = newGuide(v, counts, notes)
	p.Guide.At, p.Guide.Many, p.Guide.Stage, p.Guide.Class, p.Guide.Causes = groupAddress(p.ID, nil), true, p.Stage, p.Class, causes
	if p.Guide.Cause = cause; !slices.Contains(causes, cause) && len(causes) > 0 {
		p.Guide.Cause = causes[0]
	}
	return nil
}

// notesOf are the notes on the present round of a dead letter.
func notesOf(v *Request, id recoup.ID) ([]recoup.Note, error) {
	if id.IsZero() {
		return nil, nil
	}
	d, err := v.client.DeadLetters.Get(v.ctx(), id)
	return ofRound(d.Notes, d.Round), err
}

// noteGroup sets the owner and the note of a group.
func noteGroup(v *Request) (any, error) {
	id, err := v.pathID("a group of dead letters")
	if err != nil {
		return nil, err
	}
	said := recoup.GroupNote{Owner: v.text("owner"), Note: v.text("note")}
	_, err = v.client.DeadLetterGroups.Note(v.ctx(), id, said)
	if wrong := unfit(err); wrong != "" {
		p, err := oneGroup(v, id)
		if err != nil {
			return nil, err
		}
		p.Problem, p.Owner, p.Note = wrong, said.Owner, said.Note
		return v.again("dead-letter-group", p)
	}
	if err != nil {
		return nil, err
	}
	v.goDone(groupAddress(id, nil), "noted", 1)
	return nil, nil
}

// groupConfirmation is what a step is about to do to a group.
type groupConfirmation struct {
	Group   recoup.DeadLetterGroupDetails
	Step    string
	Title   string
	Result  recoup.BulkResult
	Why     []whyNot
	Fields  []pair // of the form, for the confirmation
	Restart int    // how many are further along, and come back to this step
}

// previewStep says what a step would do to a group, and fixes the set. A form that lacks
// something is shown again.
func previewStep(v *Request) (any, error) {
	id, err := v.pathID("a group of dead letters")
	if err != nil {
		return nil, err
	}
	step := v.r.PathValue("step")
	result, err := v.takeGroupStep(id, step, v.r.PostForm, recoup.ForGroup{Preview: true})
	if wrong := unfit(err); wrong != "" {
		p, err := oneGroup(v, id)
		if err != nil {
			return nil, err
		}
		p.Guide.refuse(step, wrong, v.r.PostForm)
		return v.again("dead-letter-group", p)
	}
	if err != nil {
		return nil, err
	}
	p, err := oneGroup(v, id)
	if err != nil {
		return nil, err
	}
	shown := groupConfirmation{Group: p.DeadLetterGroupDetails, Step: step, Result: result, Why: reasons(result.Refused), Fields: sent(v.r.PostForm)}
	for _, s := range p.Guide.Steps {
		if s.Name == step {
			shown.Title, shown.Restart = s.Title, max(0, result.Applied-s.Waiting.N)
			if s.Waiting.More {
				shown.Restart = 0
			}
		}
	}
	return shown, nil
}

// sent are the fields of a form, but for those of the console.
func sent(form url.Values) []pair {
	var list []pair
	for name := range form {
		if name != "csrf" && name != "token" {
			list = append(list, pair{name, form.Get(name)})
		}
	}
	slices.SortFunc(list, func(a, b pair) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// confirmStep takes the step that was confirmed, of the set that was shown.
func confirmStep(v *Request) (any, error) {
	id, err := v.pathID("a group of dead letters")
	if err != nil {
		return nil, err
	}
	step, token := v.r.PathValue("step"), v.r.PostFormValue("token")
	if token == "" {
		return nil, fault.New(fault.CodeValidationError, "Nothing was previewed: go back to the group, fill in its form and look at the preview.")
	}
	result, err := v.takeGroupStep(id, step, v.r.PostForm, recoup.ForGroup{Token: token})
	if err != nil {
		return nil, err
	}
	v.goDone(groupAddress(id, nil), step, result.Applied)
	return nil, nil
}
