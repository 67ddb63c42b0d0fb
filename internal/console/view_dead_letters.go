package console

import (
	"net/url"
	"sync"

	"recoup"
	"recoup/client"
)

// deadLettersPage is the groups of dead letters that failed alike.
type deadLettersPage struct {
	Groups   []letterGroup
	Pipeline string
	Open     int64 // on this page
	Nobodys  int64 // groups with open ones, and neither owner nor note
	First    string
	Next     string
}

// letterGroup is a group with its trend.
type letterGroup struct {
	recoup.DeadLetterGroup
	Trend trend
}

// groupRows is how many groups are shown at once: each has its trend, which is a call.
const groupRows = 25

func viewDeadLetters(v *visit) (any, error) {
	q := v.r.URL.Query()
	p := deadLettersPage{Pipeline: q.Get("pipeline")}
	page, err := v.client.DeadLetterGroups(v.ctx(), p.Pipeline, client.Page{Cursor: q.Get("cursor"), Limit: groupRows})
	if err != nil {
		return nil, err
	}
	if p.Groups, err = withTrends(v, page.Groups); err != nil {
		return nil, err
	}
	for i := range page.Groups {
		g := &page.Groups[i]
		p.Open += g.Open
		if g.Open > 0 && g.Owner == "" && g.Note == "" {
			p.Nobodys++
		}
	}
	here := url.Values{}
	if p.Pipeline != "" {
		here.Set("pipeline", p.Pipeline)
	}
	if q.Has("cursor") {
		p.First = address("dead-letters", here)
	}
	if page.Next != "" {
		here.Set("cursor", page.Next)
		p.Next = address("dead-letters", here)
	}
	return p, nil
}

// withTrends asks for the trend of each group, a few at a time.
func withTrends(v *visit, groups []recoup.DeadLetterGroup) ([]letterGroup, error) {
	list := make([]letterGroup, len(groups))
	failed := make(chan error, len(groups))
	turn := make(chan struct{}, 4)
	var all sync.WaitGroup
	for i := range groups {
		list[i].DeadLetterGroup = groups[i]
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			details, err := v.client.DeadLetterGroup(v.ctx(), groups[i].ID)
			if err != nil {
				failed <- err
				return
			}
			list[i].Trend = newTrend(details.Days, v.now)
		})
	}
	all.Wait()
	close(failed)
	return list, <-failed
}
