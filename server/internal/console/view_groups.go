package console

import (
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// groupsPage is what fails, by cause.
type groupsPage struct {
	Groups []groupRow
	Tokens []token
	Sort   recoup.GroupOrder
	Other  string // the list in the other order
	Open   int64
	Next   string
	First  string
}

// groupRow is a group with its 24 hours drawn.
type groupRow struct {
	recoup.ErrorGroup
	Hours []hourBar
}

// hourBar is an hour of a trend, drawn 4 wide and at most 24 high.
type hourBar struct {
	X, Y, Height int
	N            int64
}

func viewGroups(v *Request) (any, error) {
	q := v.r.URL.Query()
	q.Del("done")
	q.Del("n")
	f := recoup.ErrorGroupFilter{Table: q.Get("table"), Hub: q.Get("hub"), Code: q.Get("code"), State: recoup.State(q.Get("state")), Sort: recoup.GroupOrder(q.Get("sort"))}
	page, err := v.client.ErrorGroups.List(v.ctx(), f, client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	p := groupsPage{Tokens: tokens("groups", q), Sort: f.Sort}
	for i := range page.Groups {
		p.Groups = append(p.Groups, groupRow{page.Groups[i], hours(page.Groups[i].Trend)})
		p.Open += page.Groups[i].Open
	}
	if q.Has("cursor") {
		p.First = Address("groups", without(q, "cursor"))
	}
	if page.Next != "" {
		next := without(q, "cursor")
		next.Set("cursor", page.Next)
		p.Next = Address("groups", next)
	}
	other := without(q, "cursor", "sort")
	if f.Sort != recoup.GroupsBySeen {
		other.Set("sort", string(recoup.GroupsBySeen))
	}
	p.Other = Address("groups", other)
	return p, nil
}

// without is a copy of parameters that lacks some.
func without(q url.Values, keys ...string) url.Values {
	rest := url.Values{}
	for k, v := range q {
		rest[k] = v
	}
	for _, k := range keys {
		rest.Del(k)
	}
	return rest
}

// hours draws a trend.
func hours(trend []int64) []hourBar {
	var most int64 = 1
	for _, n := range trend {
		most = max(most, n)
	}
	list := make([]hourBar, len(trend))
	for i, n := range trend {
		h := 1 // an hour without anything is a line
		if n > 0 {
			h = 2 + int(n*22/most)
		}
		list[i] = hourBar{X: 5 * i, Y: 24 - h, Height: h, N: n}
	}
	return list
}

// stateLink is how many errors are in a state, and where they are listed.
type stateLink struct {
	State recoup.State
	N     int64
	Href  string
}

// errorGroupPage is one cause: what is known of it, and the acts on all that it has hit.
type errorGroupPage struct {
	groupRow
	Errors []recoup.Error
	All    string // the list of its errors
	Filter string
	Verbs  []verb
	States []stateLink
}

func viewErrorGroup(v *Request) (any, error) {
	id, err := v.pathID("a group")
	if err != nil {
		return nil, err
	}
	var g recoup.ErrorGroup
	var list recoup.ErrorPage
	err = together(
		func() (err error) { g, err = v.client.ErrorGroups.Get(v.ctx(), id); return err },
		func() (err error) {
			list, err = v.client.Errors.List(v.ctx(), recoup.ErrorFilter{Group: id}, client.Page{Limit: pageRows})
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	q := url.Values{"group": {id.String()}}
	p := errorGroupPage{groupRow: groupRow{g, hours(g.Trend)}, Errors: list.Errors, All: Address("errors", q), Filter: q.Encode(), Verbs: verbs()}
	for _, s := range []stateLink{{State: recoup.Active, N: g.Active}, {State: recoup.RetryPending, N: g.RetryPending}, {State: recoup.Parked, N: g.Parked}, {State: recoup.Escalated, N: g.Escalated}} {
		s.Href = Address("errors", url.Values{"group": {id.String()}, "state": {string(s.State)}})
		p.States = append(p.States, s)
	}
	return p, nil
}

// noteErrorGroup gives a group its owner and its note.
func noteErrorGroup(v *Request) (any, error) {
	id, err := v.pathID("a group")
	if err != nil {
		return nil, err
	}
	if _, err := v.client.ErrorGroups.Note(v.ctx(), id, recoup.GroupNote{Owner: v.text("owner"), Note: v.text("note")}); err != nil {
		return nil, err
	}
	v.goDone("groups/"+id.String(), "noted", 1)
	return nil, nil
}
