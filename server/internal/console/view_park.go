package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// parkPage is what waits for people, by owner.
type parkPage struct {
	Owners  []*parkOwner
	N       int64
	Overdue int64
	Next    string
	Verbs   []verb
}

// parkOwner is what one of them has to look at.
type parkOwner struct {
	Name    string
	Mine    bool
	Overdue int64
	Errors  []recoup.Error
}

// viewPark is what waits for people, those first that are the visitor's own.
func viewPark(v *Request) (any, error) {
	q := v.r.URL.Query()
	page, err := v.client.Errors.Parked(v.ctx(), recoup.ParkedFilter{Table: q.Get("table"), Hub: q.Get("hub")}, client.Page{Cursor: q.Get("cursor"), Limit: 2 * pageRows})
	if err != nil {
		return nil, err
	}
	p := parkPage{Verbs: verbs()}
	for i := range page.Errors {
		e := &page.Errors[i]
		o := p.owner(e.Owner())
		o.Errors = append(o.Errors, *e)
		if !e.ReviewDueAt.IsZero() && e.ReviewDueAt.Before(v.now) {
			o.Overdue++
			p.Overdue++
		}
		p.N++
	}
	p.sort(v.who.Name)
	if page.Next != "" {
		p.Next = Address("park", url.Values{"cursor": {page.Next}})
	}
	return p, nil
}

// owner finds an owner, or adds one.
func (p *parkPage) owner(name string) *parkOwner {
	i := slices.IndexFunc(p.Owners, func(o *parkOwner) bool { return o.Name == name })
	if i < 0 {
		i, p.Owners = len(p.Owners), append(p.Owners, &parkOwner{Name: name})
	}
	return p.Owners[i]
}

// sort puts what is the visitor's first, then who is latest; of each, the next deadline.
func (p *parkPage) sort(me string) {
	for _, o := range p.Owners {
		o.Mine = o.Name == me
		slices.SortStableFunc(o.Errors, func(a, b recoup.Error) int { return a.ReviewDueAt.Compare(b.ReviewDueAt) })
	}
	rank := func(o *parkOwner) int64 {
		if o.Mine {
			return -1 << 32
		}
		return -o.Overdue
	}
	slices.SortStableFunc(p.Owners, func(a, b *parkOwner) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	})
}
