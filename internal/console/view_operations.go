package console

import (
	"fmt"
	"net/url"

	"recoup"
	"recoup/client"
)

// operationsPage is what was set in motion for many at once: replays, newest first.
type operationsPage struct {
	Replays  []recoup.Replay
	State    string
	States   []recoup.ReplayState
	Underway int64
	Paused   int64
	First    string
	Next     string
}

func viewOperations(v *visit) (any, error) {
	q := v.r.URL.Query()
	p := operationsPage{State: q.Get("state"), States: recoup.ReplayStates()}
	page, err := v.client.Replays(v.ctx(), p.State, client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	p.Replays = page.Replays
	for i := range p.Replays {
		switch s := p.Replays[i].State; {
		case s == recoup.ReplayPaused:
			p.Paused++
		case !s.Over():
			p.Underway++
		}
	}
	here := url.Values{}
	if p.State != "" {
		here.Set("state", p.State)
	}
	if q.Has("cursor") {
		p.First = address("operations", here)
	}
	if page.Next != "" {
		here.Set("cursor", page.Next)
		p.Next = address("operations", here)
	}
	return p, nil
}

// replayBadge is where a replay stands.
func replayBadge(s recoup.ReplayState) badge {
	switch s {
	case recoup.ReplayCollecting:
		return badge{"active", "Collecting"}
	case recoup.ReplayRunning:
		return badge{"retry", "Running"}
	case recoup.ReplayPaused:
		return badge{"parked", "Paused"}
	case recoup.ReplayCancelling:
		return badge{"escalated", "Cancelling"}
	case recoup.ReplayDone:
		return badge{"resolved", "Done"}
	}
	return badge{"archived", "Cancelled"}
}

// percent is a share of one as people write it.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", share*100) }
