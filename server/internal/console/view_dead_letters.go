package console

import (
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
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

// groupRows is how many groups are shown at once, each with its trend.
const groupRows = 25

func viewDeadLetters(v *Request) (any, error) {
	q := v.r.URL.Query()
	p := deadLettersPage{Pipeline: q.Get("pipeline")}
	page, err := v.client.DeadLetterGroups.List(v.ctx(), client.DeadLetterGroupFilter{Pipeline: p.Pipeline, Days: true}, client.Page{Cursor: q.Get("cursor"), Limit: groupRows})
	if err != nil {
		return nil, err
	}
	p.Groups = withTrends(page, v.now)
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
		p.First = Address("dead-letters", here)
	}
	if page.Next != "" {
		here.Set("cursor", page.Next)
		p.Next = Address("dead-letters", here)
	}
	return p, nil
}

// withTrends puts what each group gained beside it.
func withTrends(page recoup.DeadLetterGroupPage, now time.Time) []letterGroup {
	days := map[recoup.ID][]recoup.DayCount{}
	for _, d := range page.Days {
		days[d.GroupID] = append(days[d.GroupID], d.DayCount)
	}
	list := make([]letterGroup, len(page.Groups))
	for i, g := range page.Groups {
		list[i] = letterGroup{g, newTrend(days[g.ID], now)}
	}
	return list
}
