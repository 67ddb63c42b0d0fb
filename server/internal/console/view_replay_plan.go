package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// planPage is a replay that is about to be started: of which dead letters, and how fast.
type planPage struct {
	Group   recoup.DeadLetterGroup
	Preview recoup.ReplayPreview
	Why     []whyNot // others are left out
	Typed   url.Values
	Problem string
	Refused string // why the visitor may not start it
}

// Said is what was typed into a field, or what stands there at first.
func (p planPage) Said(field, first string) string {
	if p.Typed.Has(field) {
		return p.Typed.Get(field)
	}
	return first
}

// viewReplayPlan previews the replay of a group, which fixes its members.
func viewReplayPlan(v *Request) (any, error) {
	id, err := v.pathID("a group of dead letters")
	if err != nil {
		return nil, err
	}
	p := planPage{Refused: v.who.Refused()}
	group, err := v.client.DeadLetterGroups.Get(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	p.Group = group.DeadLetterGroup
	if p.Preview, err = v.client.Replays.Preview(v.ctx(), recoup.ReplaySelection{GroupID: id}); err != nil {
		return nil, err
	}
	for reason, n := range p.Preview.NotEligible {
		p.Why = append(p.Why, whyNot{leftOut(reason), n})
	}
	slices.SortFunc(p.Why, func(a, b whyNot) int { return cmp.Or(b.N-a.N, strings.Compare(a.Reason, b.Reason)) })
	return p, nil
}

// leftOut says why dead letters cannot be replayed now.
func leftOut(reason string) string {
	if step, ok := strings.CutPrefix(reason, "MISSING_"); ok {
		return "another step comes first: " + step
	}
	words := map[string]string{
		"REPLAYING": "in a replay already", "REPLAYED": "replayed; the result has to be verified", "ARCHIVED": "archived", "CLOSED": "closed",
		"CHANGED": "changed meanwhile",
	}
	return cmp.Or(words[reason], lower(reason))
}

// startReplay starts the replay of the set that was previewed.
func startReplay(v *Request) (any, error) {
	in := recoup.NewReplay{Token: v.r.PostFormValue("token"), Reason: v.text("reason")}
	if in.Token == "" {
		return nil, fault.New(fault.CodeValidationError, "Nothing was previewed: go to the group, and look at the preview of its replay.")
	}
	var err error
	var r recoup.Replay
	if in.Plan, err = planOf(v); err == nil {
		r, err = v.client.Replays.Start(v.ctx(), in)
	}
	if wrong := unfit(err); wrong != "" {
		p := planPage{Typed: v.r.PostForm, Problem: wrong, Preview: recoup.ReplayPreview{Token: in.Token}}
		p.Group.ID, _ = recoup.ParseID(v.r.PostFormValue("group"))          // of the link back
		p.Preview.Eligible, _ = strconv.Atoi(v.r.PostFormValue("eligible")) // as it was shown
		return v.again("replay-plan", p)
	}
	if err != nil {
		return nil, err
	}
	v.goDone("replays/"+r.ID.String(), "replay", r.Members)
	return nil, nil
}

// planOf reads the plan of a form; what is left empty is as the server has it.
func planOf(v *Request) (recoup.ReplayPlan, error) {
	var p recoup.ReplayPlan
	var wrong fault.FieldErrors
	for _, f := range []struct {
		name string
		unit float64
		to   *float64
	}{{"rate", 1, &p.Rate}, {"share", 100, &p.Share}, {"limit", 100, &p.Limit}} {
		if text := v.text(f.name); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				wrong.Addf(f.name, "number", "%s is a number", f.name)
			}
			*f.to = n / f.unit
		}
	}
	if text := v.text("canary"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			wrong.Addf("canary", "number", "canary is a whole number; 0: there is no ramp")
		}
		if p.Canary = n; n == 0 {
			p.Canary = -1
		}
	}
	return p, wrong.Err()
}
