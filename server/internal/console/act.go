package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// verb is an act of a person, as pages offer it.
type verb struct {
	recoup.ActKind
	Key   string // that it is offered under
	About string // what comes of it
}

// Label is the act as a button says it.
func (v verb) Label() string { return capital(string(v.Name)) }

// Done is the act as a page says it afterwards.
func (v verb) Done() string { return capital(v.Past) }

// verbs are the acts on errors, in the order in which every page offers them.
func verbs() []verb {
	return []verb{
		{recoup.ActUnpark.Kind(), "u", "It is retried at once, as often as the policy allows."},
		{recoup.ActResolve.Kind(), "r", "It is over: it blocks nothing any more, and is archived."},
		{recoup.ActPark.Kind(), "p", "No retry any more; it waits for a person, and escalates when nobody looks."},
		{recoup.ActAssign.Kind(), "a", "It has another owner from now on."},
		{recoup.ActReview.Kind(), "v", "Somebody has looked: no review is due at this tier any more."},
		{recoup.ActEscalate.Kind(), "s", "It goes to the next tier now."},
		{recoup.ActArchive.Kind(), "", "It goes to the archive before its time, and blocks nothing any more. This cannot be undone."},
	}
}

// verbOf finds an act by its name.
func verbOf(name string) (verb, error) {
	i := slices.IndexFunc(verbs(), func(v verb) bool { return string(v.Name) == name })
	if i < 0 {
		return verb{}, fault.New(fault.CodeNotFound, "There is no such act.")
	}
	return verbs()[i], nil
}

// formAct is the act that a form describes.
func formAct(v *Request) recoup.Act {
	return recoup.Act{Reason: v.text("reason"), To: v.text("to")}
}

// actOnError does one act on one error, and shows the error again.
func actOnError(v *Request) (any, error) {
	act, err := verbOf(v.r.PathValue("verb"))
	if err != nil {
		return nil, err
	}
	id, err := v.pathID("an error")
	if err != nil {
		return nil, err
	}
	if _, err := v.client.Errors.Act(v.ctx(), act.Name, id, formAct(v)); err != nil {
		return nil, err
	}
	v.goDone("errors/"+id.String(), string(act.Name), 1)
	return nil, nil
}

// confirmation is what many errors are about to go through.
type confirmation struct {
	Verb    verb
	Result  recoup.BulkResult
	Why     []whyNot
	Back    string // the list that they were chosen from
	Problem string
	Act     recoup.Act
}

// whyNot is a reason, and how many it holds for.
type whyNot struct {
	Reason string
	N      int
}

// previewAct says what an act would do with the chosen errors. The set is fixed by it: what the
// confirmation names is what is acted on. All that a filter selects are an operation, which
// fixes them too.
func previewAct(v *Request) (any, error) {
	act, err := verbOf(v.r.PostFormValue("verb"))
	if err != nil {
		return nil, err
	}
	bulk := recoup.BulkAct{Preview: true, Act: recoup.Act{Reason: "preview", To: "preview"}}
	chosen, err := url.ParseQuery(v.r.PostFormValue("filter"))
	if err != nil {
		return nil, fault.New(fault.CodeValidationError, "The filter cannot be read.")
	}
	if v.r.PostFormValue("everything") != "" {
		return freeze(v, act, chosen)
	}
	if bulk.IDs, err = ids(v.r.PostForm["id"]); err != nil {
		return nil, err
	}
	result, err := v.client.Errors.ActOnIDs(v.ctx(), act.Name, bulk)
	if err != nil {
		return nil, err
	}
	return confirmation{Verb: act, Result: result, Why: reasons(result.Refused), Back: Address("errors", chosen)}, nil
}

// ids reads the chosen rows.
func ids(texts []string) ([]recoup.ID, error) {
	if len(texts) == 0 {
		return nil, fault.New(fault.CodeValidationError, "Nothing is selected: go back and tick some rows.")
	}
	list := make([]recoup.ID, len(texts))
	for i, text := range texts {
		var err error
		if list[i], err = recoup.ParseID(text); err != nil {
			return nil, fault.New(fault.CodeValidationError, "A row has an id that is none.")
		}
	}
	return list, nil
}

// reasons sums up why errors are left as they are, the most frequent first.
func reasons(refused []recoup.Refused) []whyNot {
	var list []whyNot
	for _, r := range refused {
		i := slices.IndexFunc(list, func(w whyNot) bool { return w.Reason == r.Reason })
		if i < 0 {
			i, list = len(list), append(list, whyNot{Reason: r.Reason})
		}
		list[i].N++
	}
	slices.SortStableFunc(list, func(a, b whyNot) int { return b.N - a.N })
	return list
}

// actOnMany does what was confirmed. What is refused because the form lacks something is
// asked for again, with the same set.
func actOnMany(v *Request) (any, error) {
	act, err := verbOf(v.r.PostFormValue("verb"))
	if err != nil {
		return nil, err
	}
	bulk := recoup.BulkAct{Act: formAct(v), Token: v.r.PostFormValue("token")}
	back := destination(v.r.PostFormValue("back"))
	result, err := v.client.Errors.ActOnIDs(v.ctx(), act.Name, bulk)
	if wrong := unfit(err); wrong != "" {
		again := confirmation{Verb: act, Back: back, Problem: wrong, Act: bulk.Act, Result: recoup.BulkResult{Token: bulk.Token}}
		_, _ = fmt.Sscan(v.r.PostFormValue("applied"), &again.Result.Applied)
		return v.again("confirm", again)
	}
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(back)
	if err != nil {
		return nil, err
	}
	q := to.Query()
	q.Set("done", string(act.Name))
	q.Set("n", fmt.Sprint(result.Applied))
	v.goTo(Address(to.Path, q))
	return nil, nil
}

// sentence is what is wrong with a form, in words.
func sentence(e *fault.Error) string {
	parts := []string{}
	for _, f := range e.Fields() {
		parts = append(parts, f.Field+": "+f.Message)
	}
	if len(parts) == 0 {
		return e.Message
	}
	return strings.Join(parts, "; ")
}

// coreOutcomes are what acts lead to, by the word in the address of the page after them.
func coreOutcomes() map[string]Outcome {
	list := map[string]Outcome{
		"view":              {"The view is saved.", ""},
		"view-changed":      {"The view is changed.", ""},
		"view-gone":         {"The view is deleted.", ""},
		"noted":             {"The group has its owner and its note.", ""},
		"triage":            {"Triaged", "dead letter"},
		"remediate":         {"Recorded the remediation of", "dead letter"},
		"validate":          {"Validated", "dead letter"},
		"verify":            {"Verified", "dead letter"},
		"replay":            {"The replay has begun: of", "dead letter"},
		"pause":             {"The replay is paused.", ""},
		"resume":            {"The replay goes on.", ""},
		"cancel":            {"The replay is cancelled.", ""},
		"silence":           {"It is silenced: nobody is notified until then.", ""},
		"unsilence":         {"The silence is over.", ""},
		"policy":            {"The policy is in force.", ""},
		"job":               {"The job has run.", ""},
		"provider":          {"The other provider is used from now on.", ""},
		"resend":            {"Sent again:", "notification"},
		"operation-confirm": {"It is confirmed, and is carried out now.", ""},
		"operation-pause":   {"The operation is paused.", ""},
		"operation-resume":  {"The operation goes on.", ""},
		"operation-cancel":  {"The operation is cancelled.", ""},
	}
	for _, v := range verbs() {
		list[string(v.Name)] = Outcome{v.Done(), "error"}
	}
	return list
}

// done says what was just done, from the address that an act leads to.
func (v *Request) done() string {
	q := v.r.URL.Query()
	o := v.console.outcome(q.Get("done"))
	if o.Noun == "" {
		return o.Done
	}
	var n int64
	if _, err := fmt.Sscan(q.Get("n"), &n); err != nil {
		return ""
	}
	return o.Done + " " + plural(n, o.Noun) + "."
}

// goDone sends the browser to the page that shows what was done.
func (v *Request) goDone(page, word string, n int) {
	v.goTo(Address(page, url.Values{"done": {word}, "n": {strconv.Itoa(n)}}))
}

// again shows a page whose form was refused once more, with what is wrong.
func (v *Request) again(page string, main any) (any, error) {
	v.sent = true
	v.console.pages.show(v, http.StatusUnprocessableEntity, page, main)
	return nil, nil
}

// unfit is what is wrong with a form; empty: the error is of another kind, or none.
func unfit(err error) string {
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Code == fault.CodeValidationError {
		return sentence(refused)
	}
	return ""
}

// text is a field of the form that was sent.
func (v *Request) text(field string) string { return strings.TrimSpace(v.r.PostFormValue(field)) }

// pathID is the id in the address of something.
func (v *Request) pathID(of string) (recoup.ID, error) {
	id, err := recoup.ParseID(v.r.PathValue("id"))
	if err != nil {
		return id, fault.New(fault.CodeNotFound, "That is no id of %s.", of)
	}
	return id, nil
}
