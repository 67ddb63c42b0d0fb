package engine

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Error returns an error, open or archived.
func (e *Engine) Error(ctx context.Context, c Caller, id recoup.ID) (recoup.Error, error) {
	found, err := e.Store.Error(ctx, id)
	if err != nil {
		return recoup.Error{}, err
	}
	if err := e.may(c, found.Table); err != nil {
		return recoup.Error{}, err
	}
	return found, nil
}

// History returns what happened to an error, oldest first.
func (e *Engine) History(ctx context.Context, c Caller, id recoup.ID, limit int) ([]recoup.Transition, error) {
	if _, err := e.Error(ctx, c, id); err != nil {
		return nil, err
	}
	return e.Store.History(ctx, id, limit)
}

// Errors lists open and resolved errors that the caller may see, newest first.
func (e *Engine) Errors(ctx context.Context, c Caller, f store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	found, err := e.Find(ctx, c, f, p)
	return found.Errors, found.Next, err
}

// ParkQueue lists parked errors that the caller may see, longest parked first.
func (e *Engine) ParkQueue(ctx context.Context, c Caller, tables []string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	f, ok, err := e.restrict(c, store.Filter{Tables: tables})
	if err != nil || !ok {
		return nil, sqldb.Cursor{}, err
	}
	return e.Store.ParkQueue(ctx, f.Tables, p)
}

// Archived lists the archive of a table, last archived first.
func (e *Engine) Archived(ctx context.Context, c Caller, table string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	if err := e.may(c, table); err != nil {
		return nil, sqldb.Cursor{}, err
	}
	return e.Store.Archived(ctx, table, p)
}

// Counts returns how many errors each table has in each state, of the tables
// that the caller may see.
func (e *Engine) Counts(ctx context.Context, c Caller) ([]recoup.StateCount, error) {
	counts, err := e.Store.Counts(ctx)
	if err != nil || len(c.Hubs) == 0 {
		return counts, err
	}
	return slices.DeleteFunc(counts, func(n recoup.StateCount) bool { return e.may(c, n.Table) != nil }), nil
}

// Sees reports whether the caller may see the errors of a table.
func (e *Engine) Sees(c Caller, table string) bool { return len(c.Hubs) == 0 || e.may(c, table) == nil }

// restrict narrows a filter to what the caller may see. It is false if that is
// nothing.
func (e *Engine) restrict(c Caller, f store.Filter) (store.Filter, bool, error) {
	if len(c.Hubs) == 0 {
		return f, true, nil
	}
	asked := f.Tables
	if f.Table != "" {
		asked = append(slices.Clone(asked), f.Table)
	}
	for _, name := range asked {
		if err := e.may(c, name); err != nil {
			return f, false, err
		}
	}
	if len(asked) == 0 {
		for _, t := range e.Policies.Tables() {
			if c.MayTouch(t) {
				f.Tables = append(f.Tables, t.Name)
			}
		}
		return f, len(f.Tables) > 0, nil
	}
	return f, true, nil
}

// TablesOf returns the tables of a filter that the caller may see, none for all of them, and
// whether there are any.
func (e *Engine) TablesOf(c Caller, f store.Filter) (tables []string, some bool, err error) {
	f, some, err = e.restrict(c, f)
	if f.Table == "" || !some {
		return f.Tables, some, err
	}
	if len(f.Tables) > 0 && !slices.Contains(f.Tables, f.Table) {
		return nil, false, err
	}
	return []string{f.Table}, true, err
}
