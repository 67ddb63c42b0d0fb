package console

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
)

// errorPage is one error: where it stands, what has happened, what comes next, and what a
// person can do.
type errorPage struct {
	recoup.Explanation
	Machine []node
	Steps   []Step
	Offers  []offer
	Code    *fault.Definition // nil: it is not registered
	Blocks  recoup.PromotionStatus
	Alike   string // the list of those that fail in the same way
	Letter  string // the page of the dead letter that it is; empty: it is none
}

// offer is an act, and why it is not to be had now, if it is not.
type offer struct {
	verb
	Refused string
}

func viewError(v *Request) (any, error) {
	id, err := v.pathID("an error")
	if err != nil {
		return nil, err
	}
	p := errorPage{}
	if p.Explanation, err = v.client.Errors.Explain(v.ctx(), id); err != nil {
		return nil, err
	}
	history, err := v.client.Errors.History(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	e := &p.Explanation.Error
	p.Steps = timeline(history, p.Next, v.now)
	p.Machine = machine(history, e.State)
	if p.Letter, err = deadLetterOf(v, &p.Explanation); err != nil {
		return nil, err
	}
	p.Offers = offers(p.Explanation, v.who)
	p.Alike = Address("errors", url.Values{"table": {e.Table}, "code": {string(e.Code)}})
	if !e.GroupID.IsZero() {
		p.Alike = "groups/" + e.GroupID.String()
	}
	if def, err := v.client.Codes.Get(v.ctx(), e.Code); err == nil {
		p.Code = &def
	}
	if e.EntityID != "" && e.Blocking {
		p.Blocks, err = v.client.CheckPromotion(v.ctx(), e.EntityID)
	}
	return p, err
}

// deadLetterOf is the page of the dead letter that an error is. None can be resolved by hand.
func deadLetterOf(v *Request, x *recoup.Explanation) (string, error) {
	if slices.Contains(x.Exits, string(recoup.ActResolve)) {
		return "", nil
	}
	found, err := admin.New(v.client).System.FindIDs(v.ctx(), recoup.DeadLetterIDs, x.Error.ID.String())
	if err != nil || len(found.IDs) == 0 {
		return "", v.optional(err)
	}
	return "dead-letters/" + x.Error.ID.String(), nil
}

// offers are all acts: those that the lifecycle and the visitor's role allow can be done.
func offers(x recoup.Explanation, by who) []offer {
	var list []offer
	for _, act := range verbs() {
		o := offer{verb: act}
		switch {
		case by.Refused() != "":
			o.Refused = by.Refused()
		case !slices.Contains(x.Exits, string(act.Name)):
			o.Refused = fmt.Sprintf("Not while the error is %s.", lower(stateBadge(x.Error.State).Word))
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b offer) int { return boolRank(a.Refused != "") - boolRank(b.Refused != "") })
	return list
}

func boolRank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// Step is a point on the line of time: what was, what is, or what will be by itself.
type Step struct {
	When   template.HTML
	Title  string
	Detail string
	Reason string
	Kind   string // past, now or next
	Class  string // of the state that it led to
}

// timeline is the past and the future on one line.
func timeline(history []recoup.Transition, next []recoup.Deadline, now time.Time) []Step {
	var list []Step
	for i := range history {
		t := &history[i]
		s := Step{When: moment(now, t.At), Title: word(t.Input), Reason: t.Reason, Kind: "past", Class: stateBadge(t.After.State).Class}
		s.Detail = "by " + t.Actor
		if t.Worker != "" {
			s.Detail = "by the worker " + t.Worker
		}
		if t.After.State != "" && t.After.State != t.Before.State {
			s.Detail += ": " + lower(stateBadge(t.After.State).Word)
		}
		if t.After.Owner != "" && t.After.Owner != t.Before.Owner {
			s.Detail += ", now with " + t.After.Owner
		}
		list = append(list, s)
	}
	if len(list) > 0 {
		list[len(list)-1].Kind = "now"
	}
	for _, d := range next {
		list = append(list, Step{When: moment(now, d.At), Title: future(d.What), Kind: "next"})
	}
	return list
}

// word says what has happened.
func word(input string) string {
	words := map[string]string{
		"report": "Reported", "succeed": "A retry succeeded", "fail": "A retry failed", "lapse": "A worker did not come back", "close_window": "The time for retries was over",
		"remind": "Its owner was reminded",
		"expire": "Expired", "rebase": "Judged by a newer policy", "replay": "Replayed", "return": "Came back from a replay", "fail_again": "Failed again", "verify": "Verified",
	}
	if w, ok := words[input]; ok {
		return w
	}
	if act := recoup.ActName(input).Kind(); act.Past != "" {
		return capital(act.Past)
	}
	return input
}

// future says what will happen by itself.
func future(kind string) string {
	words := map[string]string{
		"claim": "A retry is due: a worker can have it", "close_window": "No retry is begun any more; it is parked", "lapse": "Its worker's lease ends", "expire": "It expires: archived, and it blocks nothing any more",
		"escalate": "It escalates to the next tier", "remind": "Its owner is reminded", "archive": "It is archived",
	}
	if w, ok := words[kind]; ok {
		return w
	}
	return kind
}
