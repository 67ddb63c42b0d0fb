package console

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// savedViews are the lists that people come back to, above the one that is shown.
type savedViews struct {
	Links   []viewLink
	Filter  string   // of the list that is shown
	Fresh   bool     // it has a filter that no view has
	Hubs    []string // that a view can be shared within
	Refused string   // why the key may not save one
	CSRF    string
	Typed   url.Values // what was typed into a form that was refused
	Problem string
}

// viewLink is a view that can be opened.
type viewLink struct {
	wire.View
	Href  string
	Shown bool // it is what the list shows
}

// Asked is what a field begins with: what was typed, or what it is.
func (s savedViews) Asked(id, field, is string) string {
	if s.Problem != "" && s.Typed.Get("id") == id {
		return s.Typed.Get(field)
	}
	return is
}

// hubChoice is whom a view is for, among those whom it can be for.
type hubChoice struct {
	Hubs []string
	At   string
}

// viewHub is the choice of a view's form.
func viewHub(s savedViews, id, hub string) hubChoice {
	return hubChoice{s.Hubs, s.Asked(id, "hub", hub)}
}

// saved reads the views of whoever looks at a list, their own first.
func saved(v *Request, q url.Values) (savedViews, error) {
	s := savedViews{Filter: q.Encode(), Refused: v.who.Refused(), CSRF: v.session.csrf()}
	shown := filterTokens(q)
	s.Fresh = len(shown) > 0
	slices.Sort(shown)
	for view, err := range admin.New(v.client).Views.All(v.ctx()) {
		if err != nil {
			return s, v.optional(err)
		}
		tokens := slices.Sorted(slices.Values(view.Tokens))
		link := viewLink{view, Address("errors", tokenQuery(view.Tokens)), slices.Equal(tokens, shown)}
		s.Links, s.Fresh = append(s.Links, link), s.Fresh && !link.Shown
	}
	slices.SortFunc(s.Links, func(a, b viewLink) int { return cmp.Or(cmp.Compare(a.Hub, b.Hub), cmp.Compare(a.Name, b.Name)) })
	return s, nil
}

// saveView saves the filter of a list under a name, or gives a view another one. A form that
// is refused is shown again above its list.
func saveView(v *Request) (any, error) {
	q, err := url.ParseQuery(v.r.PostFormValue("filter"))
	if err != nil {
		return nil, fault.New(fault.CodeValidationError, "The filter cannot be read.")
	}
	asked, word := wire.NewView{Name: v.text("name"), Tokens: filterTokens(q), Hub: v.text("hub")}, "view"
	if id := v.text("id"); id == "" {
		_, err = admin.New(v.client).Views.Add(v.ctx(), asked)
	} else if at, bad := recoup.ParseID(id); bad != nil {
		return nil, fault.New(fault.CodeNotFound, "That is no id of a view.")
	} else {
		word = "view-changed"
		_, err = admin.New(v.client).Views.Change(v.ctx(), at, asked)
	}
	if wrong := unfit(err); wrong != "" {
		v.r.URL = &url.URL{Path: Path + "errors", RawQuery: q.Encode()}
		p, err := errorList(v)
		if err != nil {
			return nil, err
		}
		p.Saved.Typed, p.Saved.Problem = v.r.PostForm, wrong
		return v.again("errors", p)
	}
	if err != nil {
		return nil, err
	}
	q.Set("done", word)
	v.goTo(Address("errors", q))
	return nil, nil
}

// deleteView deletes a view, and shows the list that it was.
func deleteView(v *Request) (any, error) {
	id, err := v.pathID("a view")
	if err != nil {
		return nil, err
	}
	gone, err := admin.New(v.client).Views.Delete(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	q := tokenQuery(gone.Tokens)
	q.Set("done", "view-gone")
	v.goTo(Address("errors", q))
	return nil, nil
}
