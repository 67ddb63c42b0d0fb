package engine

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/fingerprint"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// maxExample is the most bytes of a message that stands for its group, and maxGroupNote
// of a note on one.
const (
	maxExample   = 1000
	maxGroupNote = 4000
)

// ErrorGroups lists the groups that the caller may see, each with its trend.
func (e *Engine) ErrorGroups(ctx context.Context, c Caller, f store.ErrorGroupFilter, p sqldb.Page) ([]recoup.ErrorGroup, sqldb.Cursor, error) {
	tables, ok, err := e.restrict(c, store.Filter{Table: f.Table, Tables: f.Tables})
	if err != nil || !ok {
		return nil, sqldb.Cursor{}, err
	}
	f.Tables = tables.Tables
	groups, next, err := e.Store.ErrorGroups(ctx, f, p)
	if err != nil {
		return nil, sqldb.Cursor{}, err
	}
	return groups, next, e.present(ctx, groups)
}

// ErrorGroup returns a group with its trend. One of another hub is not found.
func (e *Engine) ErrorGroup(ctx context.Context, c Caller, id recoup.ID) (recoup.ErrorGroup, error) {
	g, err := e.Store.ErrorGroup(ctx, id)
	if err == nil && e.may(c, g.Table) != nil {
		err = sqldb.ErrNotFound
	}
	if err != nil {
		return recoup.ErrorGroup{}, err
	}
	list := []recoup.ErrorGroup{g}
	err = e.present(ctx, list)
	return list[0], err
}

// present fills in what is made of rows when they are read: signatures and trends.
func (e *Engine) present(ctx context.Context, groups []recoup.ErrorGroup) error {
	if len(groups) == 0 {
		return nil
	}
	first := store.Hour(e.Now()).Add(-(recoup.TrendHours - 1) * time.Hour)
	ids, at := make([]recoup.ID, len(groups)), make(map[recoup.ID]int, len(groups))
	for i := range groups {
		g := &groups[i]
		g.Signature, g.Example = fingerprint.Signature(g.Example), fingerprint.Cut(g.Example, maxExample)
		g.Trend, ids[i], at[g.ID] = make([]int64, recoup.TrendHours), g.ID, i
	}
	hours, err := e.Store.ErrorGroupHours(ctx, ids, first)
	for _, h := range hours {
		if k := int(h.Hour.Sub(first) / time.Hour); k < recoup.TrendHours {
			groups[at[h.ID]].Trend[k] += h.N
		}
	}
	return err
}

// maxCodePages is how many pages of groups the hours of a code are made of, the last seen
// first.
const maxCodePages = 5

// CodeHours returns how many errors of a code were reported in each hour from a time on,
// of the tables that the caller may see, as far as its groups are folded, and whether all
// of its groups were counted.
func (e *Engine) CodeHours(ctx context.Context, c Caller, f store.Filter, from time.Time) (list []store.GroupHour, whole bool, err error) {
	f, ok, err := e.restrict(c, f)
	if err != nil || !ok {
		return nil, true, err
	}
	groups := store.ErrorGroupFilter{Table: f.Table, Tables: f.Tables, Code: f.Code, Order: recoup.GroupsBySeen}
	page := sqldb.Page{Limit: sqldb.MaxPage}
	for range maxCodePages {
		found, next, err := e.Store.ErrorGroups(ctx, groups, page)
		if err != nil {
			return nil, false, err
		}
		var ids []recoup.ID
		for i := range found {
			if !found[i].LastSeenAt.Before(from) {
				ids = append(ids, found[i].ID)
			}
		}
		hours, err := e.Store.ErrorGroupHours(ctx, ids, from)
		if err != nil {
			return nil, false, err
		}
		list = append(list, hours...)
		if next.IsZero() || len(ids) < len(found) {
			return list, true, nil
		}
		page.Cursor = next
	}
	return list, false, nil
}

// CheckGroupNote says what is wrong with a note on a group, all of it.
func (e *Engine) CheckGroupNote(owner, note string) error {
	_, err := e.checkGroupNote(owner, note)
	return err
}

func (e *Engine) checkGroupNote(owner, note string) (clean string, err error) {
	f := check.Fields{Redactor: e.Redactor}
	f.Identifier("owner", owner)
	clean = f.Text("note", note, maxGroupNote)
	f.Require("owner or note", owner != "" || note != "")
	return clean, f.Err()
}

// NoteErrorGroup says who takes care of a group and what is known of it. What was said
// before stays in the audit.
func (e *Engine) NoteErrorGroup(ctx context.Context, c Caller, id recoup.ID, owner, note string) (recoup.ErrorGroup, error) {
	note, err := e.checkGroupNote(owner, note)
	if err != nil {
		return recoup.ErrorGroup{}, err
	}
	if _, err := e.ErrorGroup(ctx, c, id); err != nil {
		return recoup.ErrorGroup{}, err
	}
	if _, err := e.Store.NoteErrorGroup(ctx, id, owner, note, c.Act("", e.Now())); err != nil {
		return recoup.ErrorGroup{}, err
	}
	return e.ErrorGroup(ctx, c, id)
}
