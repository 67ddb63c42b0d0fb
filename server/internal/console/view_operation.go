package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// operationPage is a bulk operation: what is asked before it is confirmed, how far it has
// come then, and the result of each of its members.
type operationPage struct {
	recoup.Operation
	Verb    verb
	Acts    []steering
	Items   []recoup.OperationItem
	Result  string // that the items are narrowed to
	Results []memberResult
	First   string
	More    string
	Problem string     // with the confirmation
	Said    recoup.Act // with it
}

// memberResult is how many members have a result, and where they are listed.
type memberResult struct {
	Result recoup.OperationResult
	N      int64
	Href   string
}

// Ended is how many members have their result.
func (p *operationPage) Ended() int64 { return int64(p.Applied + p.Refused) }

// freeze begins an operation on all errors that a filter selects now, and shows it.
func freeze(v *Request, act verb, chosen url.Values) (any, error) {
	f, err := filter(chosen, v.now)
	if err != nil {
		return nil, err
	}
	o, err := v.client.Operations.Create(v.ctx(), recoup.NewOperation{Act: act.Name, Filter: f, All: f == recoup.ErrorFilter{}})
	if err != nil {
		return nil, err
	}
	v.goTo("operations/" + o.ID.String())
	return nil, nil
}

func viewOperation(v *Request) (any, error) {
	id, err := v.pathID("an operation")
	if err != nil {
		return nil, err
	}
	return operationOf(v, id)
}

func operationOf(v *Request, id recoup.ID) (*operationPage, error) {
	q, at := v.r.URL.Query(), "operations/"+id.String()
	o, err := v.client.Operations.Get(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	p := &operationPage{Operation: o, Result: q.Get("result"), Said: o.Input, Acts: operationActs(&o, v.who), Results: memberResults(at, &o)}
	if p.Verb, err = verbOf(o.Act); err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(q.Get("from"))
	if err != nil && q.Has("from") || from < 0 {
		return nil, fault.New(fault.CodeValidationError, "The address is of no page of items: from is a position.")
	}
	items, err := v.client.Operations.Items(v.ctx(), id, p.Result, from, pageRows)
	if err != nil {
		return nil, err
	}
	p.Items = items.Items
	here := url.Values{}
	if p.Result != "" {
		here.Set("result", p.Result)
	}
	if from > 0 {
		p.First = Address(at, here)
	}
	if items.Next > 0 {
		here.Set("from", strconv.Itoa(items.Next))
		p.More = Address(at, here)
	}
	return p, nil
}

// memberResults are the results that members have, with how many.
func memberResults(at string, o *recoup.Operation) []memberResult {
	var list []memberResult
	for _, r := range []memberResult{
		{recoup.ResultPending, int64(o.Pending()), ""}, {recoup.ResultApplied, int64(o.Applied), ""}, {recoup.ResultRefused, int64(o.Refused), ""},
	} {
		if r.N > 0 {
			r.Href = Address(at, url.Values{"result": {string(r.Result)}})
			list = append(list, r)
		}
	}
	return list
}

// operationActs are all acts on an operation; those that its state and the visitor's role
// allow can be done.
func operationActs(o *recoup.Operation, by who) []steering {
	list := []steering{
		{Name: "pause", Label: "Pause", About: "It stops between two chunks of errors. What is done stays done."},
		{Name: "resume", Label: "Resume", About: "It goes on where it stood."},
		{Name: "cancel", Label: "Cancel", About: "It ends: what is done stays done, and errors without a result are as they were. A cancelled operation cannot be resumed."},
	}
	can := map[string]bool{"pause": o.State == recoup.OperationRunning, "resume": o.State == recoup.OperationPaused, "cancel": !o.Over()}
	return permit(list, by, can, "Not while the operation is "+lower(operationBadge(o.State).Word)+".")
}

// actOnOperation confirms, pauses, resumes or cancels an operation, and shows it again. A
// confirmation that lacks something is asked for again.
func actOnOperation(v *Request) (any, error) {
	id, err := v.pathID("an operation")
	if err != nil {
		return nil, err
	}
	name, reason := v.r.PathValue("verb"), v.text("reason")
	switch name {
	case "confirm":
		_, err = v.client.Operations.Confirm(v.ctx(), id, formAct(v))
		if wrong := unfit(err); wrong != "" {
			p, err := operationOf(v, id)
			if err != nil {
				return nil, err
			}
			p.Problem, p.Said = wrong, formAct(v)
			return v.again("operation", p)
		}
	case "pause":
		_, err = v.client.Operations.Pause(v.ctx(), id, reason)
	case "resume":
		_, err = v.client.Operations.Resume(v.ctx(), id, reason)
	case "cancel":
		_, err = v.client.Operations.Cancel(v.ctx(), id, reason)
	default:
		err = fault.New(fault.CodeNotFound, "An operation can be confirmed, paused, resumed or cancelled, and nothing else.")
	}
	if err != nil {
		return nil, err
	}
	v.goDone("operations/"+id.String(), "operation-"+name, 1)
	return nil, nil
}

// operationBadge is where an operation stands.
func operationBadge(s recoup.OperationState) Badge {
	switch s {
	case recoup.OperationFrozen:
		return Badge{"active", "Not confirmed"}
	case recoup.OperationRunning:
		return Badge{"retry", "Running"}
	case recoup.OperationPaused:
		return Badge{"parked", "Paused"}
	case recoup.OperationDone:
		return Badge{"resolved", "Done"}
	case recoup.OperationCancelled:
		return Badge{"archived", "Cancelled"}
	}
	return Badge{"active", "Collecting"}
}

// resultBadge is what became of a member.
func resultBadge(r recoup.OperationResult) Badge {
	switch r {
	case recoup.ResultApplied:
		return Badge{"resolved", "Applied"}
	case recoup.ResultRefused:
		return Badge{"escalated", "Refused"}
	}
	return Badge{"active", "Pending"}
}

// filterWords says what selected the members of an operation.
func filterWords(filter recoup.JSON) string {
	var values map[string]any
	if json.Unmarshal([]byte(filter), &values) != nil || len(values) == 0 {
		return "all open errors"
	}
	words := make([]string, 0, len(values))
	for name, value := range values {
		words = append(words, fmt.Sprintf("%s:%v", strings.TrimSuffix(name, "_id"), value))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
