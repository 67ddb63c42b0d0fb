package console

import (
	"fmt"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// operationsPage is what was set in motion for many at once: bulk acts on errors and replays
// of dead letters, each newest first.
type operationsPage struct {
	Acts     operationList[recoup.Operation, recoup.OperationState]
	Replays  operationList[recoup.Replay, recoup.ReplayState]
	Underway int64
	Paused   int64
	Waiting  int64 // for their confirmation
}

// operationList is a list of what was set in motion, with the states that it can be narrowed
// to. Both of a page keep their place in its address.
type operationList[T any, S ~string] struct {
	Rows        []T
	State       string
	States      []operationChoice[S]
	All         string
	First, Next string
}

type operationChoice[S ~string] struct {
	State S
	Href  string
}

// choose fills in where a list can be narrowed and goes on, by the names that the address has
// for its state and its cursor.
func (l *operationList[T, S]) choose(q url.Values, stateKey, cursorKey string, states []S, next string) {
	at := func(state, cursor string) string {
		here := url.Values{}
		for name := range q {
			here.Set(name, q.Get(name))
		}
		for name, value := range map[string]string{stateKey: state, cursorKey: cursor} {
			if here.Set(name, value); value == "" {
				here.Del(name)
			}
		}
		return Address("operations", here)
	}
	l.State, l.All = q.Get(stateKey), at("", "")
	for _, s := range states {
		l.States = append(l.States, operationChoice[S]{s, at(string(s), "")})
	}
	if q.Has(cursorKey) {
		l.First = at(l.State, "")
	}
	if next != "" {
		l.Next = at(l.State, next)
	}
}

func viewOperations(v *Request) (any, error) {
	q := v.r.URL.Query()
	q.Del("done")
	q.Del("n")
	acts, err := v.client.Operations.List(v.ctx(), q.Get("acts"), client.Page{Cursor: q.Get("acts_cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	replays, err := v.client.Replays.List(v.ctx(), q.Get("state"), client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	p := operationsPage{}
	p.Acts.Rows, p.Replays.Rows = acts.Operations, replays.Replays
	p.Acts.choose(q, "acts", "acts_cursor", recoup.OperationStates(), acts.Next)
	p.Replays.choose(q, "state", "cursor", recoup.ReplayStates(), replays.Next)
	p.count()
	return p, nil
}

// count says how many of those that are shown stand where.
func (p *operationsPage) count() {
	for i := range p.Acts.Rows {
		switch p.Acts.Rows[i].State {
		case recoup.OperationRunning:
			p.Underway++
		case recoup.OperationPaused:
			p.Paused++
		case recoup.OperationFrozen:
			p.Waiting++
		}
	}
	for i := range p.Replays.Rows {
		switch s := p.Replays.Rows[i].State; {
		case s == recoup.ReplayPaused:
			p.Paused++
		case !s.Over():
			p.Underway++
		}
	}
}

// replayBadge is where a replay stands.
func replayBadge(s recoup.ReplayState) Badge {
	switch s {
	case recoup.ReplayCollecting:
		return Badge{"active", "Collecting"}
	case recoup.ReplayRunning:
		return Badge{"retry", "Running"}
	case recoup.ReplayPaused:
		return Badge{"parked", "Paused"}
	case recoup.ReplayCancelling:
		return Badge{"escalated", "Cancelling"}
	case recoup.ReplayDone:
		return Badge{"resolved", "Done"}
	}
	return Badge{"archived", "Cancelled"}
}

// percent is a share of one as people write it.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", share*100) }
