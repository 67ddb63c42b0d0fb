package console

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
)

// errorsPage is the list of open errors.
type errorsPage struct {
	Saved    savedViews
	Partial  bool // the search may have left some out
	Tokens   []token
	Words    []string // that can be typed
	Filter   string   // of the address, for acts on all that match
	Errors   []recoup.Error
	Next     string // the address of the next page
	First    string // of the first one, unless this is it
	Verbs    []verb
	Matching string // how many match, where that is known
}

// Searched reports whether the list is narrowed by a text.
func (p errorsPage) Searched() bool {
	return slices.ContainsFunc(p.Tokens, func(t token) bool { return t.Key == "text" })
}

// pageRows is how many rows a list shows at once.
const pageRows = 50

func viewErrors(v *Request) (any, error) {
	q := v.r.URL.Query()
	if text := q.Get("q"); q.Has("q") {
		v.goTo(Address("errors", typed(q, text)))
		return nil, nil
	}
	return errorList(v)
}

// errorList is the list of errors that an address asks for.
func errorList(v *Request) (p errorsPage, err error) {
	q := v.r.URL.Query()
	q.Del("done")
	q.Del("n")
	f, err := filter(q, v.now)
	if err != nil {
		return p, err
	}
	p = errorsPage{Tokens: tokens("errors", q), Verbs: verbs()}
	shown := tokenQuery(filterTokens(q))
	var page recoup.ErrorPage
	var hubs []string
	err = together(
		func() (err error) {
			page, err = v.client.Errors.List(v.ctx(), f, client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
			return err
		},
		func() (err error) { p.Words, hubs, err = words(v); return err },
		func() (err error) { p.Saved, err = saved(v, shown); return err },
		func() (err error) { p.Matching, err = matching(v, f); return err },
	)
	if err != nil {
		return p, err
	}
	p.Errors, p.Partial, p.Saved.Hubs = page.Errors, page.Truncated, hubs
	if q.Has("cursor") {
		q.Del("cursor")
		p.First = Address("errors", q)
	}
	p.Filter = q.Encode()
	if page.Next != "" {
		q.Set("cursor", page.Next)
		p.Next = Address("errors", q)
	}
	return p, nil
}

// words are what a filter can be made of: what the policy names, and what is always there.
// The hubs are those of the visitor's key.
func words(v *Request) (list, hubs []string, err error) {
	list = []string{"parked:yes", "blocking:yes", "older:1d", "newer:1h", "text:"}
	for _, s := range recoup.States() {
		if s != recoup.Archived {
			list = append(list, "state:"+string(s))
		}
	}
	tables, err := admin.New(v.client).System.Tables(v.ctx())
	for i := range tables {
		list = append(list, "table:"+tables[i].Table)
		if hub := tables[i].Hub; hub != "" && !slices.Contains(hubs, hub) && (len(v.who.Hubs) == 0 || slices.Contains(v.who.Hubs, hub)) {
			hubs, list = append(hubs, hub), append(list, "hub:"+hub)
		}
	}
	return list, hubs, err
}

// matching is how many errors a filter selects, if the counts by table and state say it.
func matching(v *Request, f recoup.ErrorFilter) (string, error) {
	known := recoup.ErrorFilter{Table: f.Table, State: f.State}
	if f != known {
		return "", nil
	}
	counts, err := v.client.Errors.Counts(v.ctx())
	if err != nil {
		return "", err
	}
	var n int64
	for _, c := range counts {
		if (f.Table == "" || c.Table == f.Table) && (f.State == "" || c.State == f.State) && c.State != recoup.Archived {
			n += c.N
		}
	}
	return plural(n, "error"), nil
}
