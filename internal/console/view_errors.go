package console

import (
	"recoup"
	"recoup/client"
)

// errorsPage is the list of open errors.
type errorsPage struct {
	Tokens   []token
	Words    []string // that can be typed
	Filter   string   // of the address, for acts on all that match
	Errors   []recoup.Error
	Next     string // the address of the next page
	First    string // of the first one, unless this is it
	Verbs    []verb
	Matching string // how many match, where that is known
}

// pageRows is how many rows a list shows at once.
const pageRows = 50

func viewErrors(v *visit) (any, error) {
	q := v.r.URL.Query()
	if text := q.Get("q"); q.Has("q") {
		v.goTo(address("errors", typed(q, text)))
		return nil, nil
	}
	q.Del("done")
	q.Del("n")
	f, err := filter(q, v.now)
	if err != nil {
		return nil, err
	}
	page, err := v.client.Errors(v.ctx(), f, client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	p := errorsPage{Tokens: tokens("errors", q), Errors: page.Errors, Verbs: verbs()}
	if q.Has("cursor") {
		q.Del("cursor")
		p.First = address("errors", q)
	}
	p.Filter = q.Encode()
	if page.Next != "" {
		q.Set("cursor", page.Next)
		p.Next = address("errors", q)
	}
	p.Words, err = words(v)
	if err != nil {
		return nil, err
	}
	p.Matching, err = matching(v, f)
	return p, err
}

// words are what a filter can be made of: what the policy names, and what is always there.
func words(v *visit) ([]string, error) {
	list := []string{"parked:yes", "blocking:yes", "older:1d", "newer:1h"}
	for _, s := range recoup.States() {
		if s != recoup.Archived {
			list = append(list, "state:"+string(s))
		}
	}
	tables, err := v.client.Tables(v.ctx())
	if err != nil {
		return nil, err
	}
	hubs := map[string]bool{}
	for i := range tables {
		list = append(list, "table:"+tables[i].Table)
		if hub := tables[i].Hub; hub != "" && !hubs[hub] {
			hubs[hub] = true
			list = append(list, "hub:"+hub)
		}
	}
	return list, nil
}

// matching is how many errors a filter selects, if the counts by table and state say it.
func matching(v *visit, f client.Filter) (string, error) {
	known := client.Filter{Table: f.Table, State: f.State}
	if f != known {
		return "", nil
	}
	counts, err := v.client.Counts(v.ctx())
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
