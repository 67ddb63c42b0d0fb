package console

import (
	"net/url"
	"strings"

	"github.com/recoup-dev/recoup"
)

// deadLetterPage is one dead letter: how often its work failed, what was done about it, and
// what comes next.
type deadLetterPage struct {
	recoup.DeadLetterDetails
	Guide    guide
	Redacted []string // what kinds of secrets were replaced in what is kept of it
}

func viewDeadLetter(v *Request) (any, error) {
	id, err := v.pathID("a dead letter")
	if err != nil {
		return nil, err
	}
	return oneDeadLetter(v, id)
}

func oneDeadLetter(v *Request, id recoup.ID) (*deadLetterPage, error) {
	d, err := v.client.DeadLetters.Get(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	p := &deadLetterPage{DeadLetterDetails: d, Redacted: redacted(&d)}
	counts := map[recoup.WorkflowStep]tallied{}
	if d.Open() || d.Step == recoup.StepVerified { // one that was archived waits for nothing
		counts[d.Step] = tallied{N: 1}
	}
	p.Guide = newGuide(v, counts, ofRound(d.Notes, d.Round))
	p.Guide.At, p.Guide.Stage, p.Guide.Class, p.Guide.Cause, p.Guide.ReplayedBy = "dead-letters/"+id.String(), d.Stage, d.Class, d.Cause, d.ReplayID
	return p, nil
}

// ofRound are the notes of a round.
func ofRound(notes []recoup.Note, round int) []recoup.Note {
	var list []recoup.Note
	for i := range notes {
		if notes[i].Round == round {
			list = append(list, notes[i])
		}
	}
	return list
}

// redacted lists the kinds of secrets that were replaced before the dead letter was kept.
func redacted(d *recoup.DeadLetterDetails) []string {
	var list []string
	seen := map[string]bool{}
	for i := range d.Rounds {
		rest := d.Rounds[i].LastStack + string(d.Rounds[i].Context)
		for {
			_, after, ok := strings.Cut(rest, "[redacted:")
			kind, next, closed := strings.Cut(after, "]")
			if !ok || !closed {
				break
			}
			if rest = next; !seen[kind] {
				seen[kind] = true
				list = append(list, kind)
			}
		}
	}
	return list
}

// actOnDeadLetter takes a step of one dead letter. A form that lacks something is shown
// again.
func actOnDeadLetter(v *Request) (any, error) {
	id, err := v.pathID("a dead letter")
	if err != nil {
		return nil, err
	}
	step := v.r.PathValue("step")
	if step == "replay" {
		var r recoup.Replay
		if r, err = v.client.DeadLetters.Replay(v.ctx(), id, recoup.SingleReplay{Reason: v.text("reason")}); err == nil {
			v.goDone("replays/"+r.ID.String(), "replay", 1)
			return nil, nil
		}
	} else {
		err = v.takeStep(id, step, v.r.PostForm)
	}
	if wrong := unfit(err); wrong != "" {
		p, err := oneDeadLetter(v, id)
		if err != nil {
			return nil, err
		}
		p.Guide.refuse(step, wrong, v.r.PostForm)
		return v.again("dead-letter", p)
	}
	if err != nil {
		return nil, err
	}
	v.goDone("dead-letters/"+id.String(), step, 1)
	return nil, nil
}

// groupAddress is the page of a group.
func groupAddress(id recoup.ID, q url.Values) string {
	return Address("dead-letters/groups/"+id.String(), q)
}
