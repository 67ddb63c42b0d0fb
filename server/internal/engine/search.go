package engine

import (
	"context"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/fingerprint"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The bounds of a search: how many groups are looked at, those first of which most is open,
// and the errors of how many are listed. So it costs the same with a million errors.
const (
	searchGroups = 2000
	foundGroups  = 50
)

// Searchable reports whether a text has anything that messages can have in common.
func Searchable(text string) bool { return fingerprint.Tells(text) }

// Found is a list of errors, and whether a bound of the search has left some out.
type Found struct {
	Errors  []recoup.Error
	Next    sqldb.Cursor
	Partial bool
}

// Find lists errors as [Engine.Errors] does, and says whether there may be more.
func (e *Engine) Find(ctx context.Context, c Caller, f store.Filter, p sqldb.Page) (found Found, err error) {
	f, ok, err := e.restrict(c, f)
	if err == nil && ok && f.Text != "" {
		f, found.Partial, err = e.search(ctx, f)
		ok = len(f.Groups) > 0
	}
	if err != nil || !ok {
		return found, err
	}
	found.Errors, found.Next, err = e.Store.Errors(ctx, f, p)
	return found, err
}

// search narrows a filter to the groups whose messages have its text in common. What differs
// from one message of a group to the next, such as numbers and quoted names, is taken out of
// the text as it is out of messages.
func (e *Engine) search(ctx context.Context, f store.Filter) (store.Filter, bool, error) {
	text := strings.ToLower(fingerprint.Signature(f.Text))
	groups := store.ErrorGroupFilter{Table: f.Table, Tables: f.Tables, Code: f.Code, State: f.State, Order: recoup.GroupsByOpen}
	page := sqldb.Page{Limit: sqldb.MaxPage}
	for looked := 0; ; {
		list, next, err := e.Store.ErrorGroups(ctx, groups, page)
		if err != nil {
			return f, false, err
		}
		for i := range list {
			g := &list[i]
			if (f.Group.IsZero() || f.Group == g.ID) && strings.Contains(strings.ToLower(fingerprint.Signature(g.Example)), text) {
				f.Groups = append(f.Groups, g.ID)
			}
		}
		looked += len(list)
		if len(f.Groups) > foundGroups {
			f.Groups = f.Groups[:foundGroups]
			return f, true, nil
		}
		if next.IsZero() || looked >= searchGroups {
			return f, !next.IsZero(), nil
		}
		page.Cursor = next
	}
}
