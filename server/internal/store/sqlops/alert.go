package sqlops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var (
	alerts    = sqldb.NewRepository(store.Alerts, "alert")
	providers = sqldb.NewRepository(store.Providers, "provider")
)

const openAlerts = "where state <> 'RESOLVED' order by rule, coalesce(scope, '') limit $1"

// OpenAlerts returns the alerts that are not resolved, by rule and scope.
func (v Ops) OpenAlerts(ctx context.Context) ([]wire.Alert, error) {
	return alerts.List(ctx, v.db, alerts.Select("read alerts", openAlerts, store.MaxOpenAlerts))
}

// Alert returns an alert.
func (v Ops) Alert(ctx context.Context, id recoup.ID) (wire.Alert, error) {
	return alerts.Get(ctx, v.db, alerts.Select("read an alert", "where alert_id = $1", id), id.String())
}

// Alerts lists alerts, newest first.
func (v Ops) Alerts(ctx context.Context, f store.AlertFilter, p sqldb.Page) ([]wire.Alert, sqldb.Cursor, error) {
	return alerts.Page(ctx, v.db, alertQuery(v.db.Dialect(), f, p), p, func(a *wire.Alert) sqldb.Cursor { return sqldb.Cursor{At: a.PendingAt, ID: a.ID} })
}

// alertQuery reads from the index that has the order for the most selective of the
// filter's conditions, and says outright when only open alerts are asked for, so
// that their index can serve.
func alertQuery(d sqldb.Dialect, f store.AlertFilter, p sqldb.Page) *sqldb.Query {
	index := "list"
	switch {
	case f.Notified:
		index = "notified"
	case f.Open():
		index = "open_list"
	case f.Rule != "":
		index = "rule"
	case f.Scope != "":
		index = "scope"
	}
	q := alerts.Select("list alerts", "/*by alert_"+index+"_idx*/ where true")
	if f.Open() {
		q.Add(" and state <> 'RESOLVED'")
	}
	if len(f.States) > 0 {
		q.OneOf(d, "state", sqldb.Texts(f.States))
	}
	if f.Notified {
		q.Add(" and notified > 0 and rule = " + q.Arg(f.Rule) + " and coalesce(scope, '') = " + q.Arg(f.Scope))
	} else {
		q.Equal("rule", f.Rule)
		q.Equal("scope", f.Scope)
	}
	return q.Newest("pending_at", "alert_id", p)
}

// SaveAlerts writes what an evaluation has changed, held by the leader's term.
func (v Ops) SaveAlerts(ctx context.Context, term store.Term, now time.Time, verdict store.Verdict) error {
	if err := verdict.Check(); err != nil {
		return err
	}
	return v.db.Act(ctx, "save alerts", time.Time{}, func(tx Tx) error {
		if err := holdTerm(tx, term); err != nil {
			return err
		}
		if err := saveAlerts(tx, verdict.Alerts); err != nil {
			return err
		}
		if _, err := AddNotices(tx, now, verdict.Notices); err != nil {
			return err
		}
		for _, change := range verdict.Switches {
			if _, err := switchProvider(tx, change, verdict.Act(change, now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// holdTerm refuses a leader whose term is over. The term is held until the commit,
// so that no other can begin meanwhile.
func holdTerm(tx Tx, term store.Term) error {
	held, err := terms.Find(tx, "where name = $1 and number = $2 and holder is not null"+tx.Dialect().ForUpdate("no key update"), term.Name, term.Number)
	if err == nil && len(held) == 0 {
		err = fmt.Errorf("%w: this term is over: somebody else leads", store.ErrRefused)
	}
	return err
}

// saveAlerts writes new versions of alerts, and the first of new ones: an episode
// that ends makes room for the next.
func saveAlerts(tx Tx, list []wire.Alert) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]recoup.ID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	var known []recoup.ID
	q := sqldb.NewQuery("", "select alert_id from recoup.alert where true")
	q.AnyOf(tx.Dialect(), "alert_id", ids)
	if err := tx.Query(q, sqldb.Into(&known, sqldb.IDColumn())); err != nil {
		return err
	}
	isNew := func(a wire.Alert) bool { return !slices.Contains(known, a.ID) }
	open, err := alerts.Find(tx, openAlerts, store.MaxOpenAlerts)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(a wire.Alert) bool { return overtaken(a, isNew(a), open, ids) }); i >= 0 {
		return fmt.Errorf("%w: rule %s was evaluated by another run meanwhile", store.ErrConflict, list[i].Rule)
	}
	if err := alerts.Update(tx, slices.DeleteFunc(slices.Clone(list), isNew)...); err != nil {
		return err
	}
	return alerts.Add(tx, slices.DeleteFunc(slices.Clone(list), func(a wire.Alert) bool { return !isNew(a) })...)
}

// overtaken reports whether another evaluation has come first: an episode of the rule
// and scope is open that this one, whose alerts have these ids, does not know of, or the
// alert is further than it knows.
func overtaken(a wire.Alert, isNew bool, open []wire.Alert, ids []recoup.ID) bool {
	return slices.ContainsFunc(open, func(o wire.Alert) bool {
		if o.ID == a.ID {
			return o.Notified > a.Notified || !o.FiredAt.IsZero() && !o.FiredAt.Equal(a.FiredAt)
		}
		return isNew && o.Rule == a.Rule && o.Scope == a.Scope && !slices.Contains(ids, o.ID)
	})
}

// Providers returns the groups that were ever switched, by name.
func (v Ops) Providers(ctx context.Context) ([]recoup.Provider, error) {
	return providers.List(ctx, v.db, providers.Select("read providers", "order by group_name limit $1", sqldb.MaxPage))
}

// SwitchProvider moves a group to another provider.
func (v Ops) SwitchProvider(ctx context.Context, change store.Switch, by store.Act) (recoup.Provider, error) {
	return sqldb.Act(ctx, v.db, "switch a provider", func(tx Tx) (recoup.Provider, error) { return switchProvider(tx, change, by) })
}

// switchProvider makes switches wait for each other: a group that was never
// switched has no row to lock.
func switchProvider(tx Tx, change store.Switch, by store.Act) (recoup.Provider, error) {
	if err := tx.Acquire(lockProvider, false); err != nil {
		return recoup.Provider{}, err
	}
	found, err := providers.Find(tx, "where group_name = $1", change.Group)
	if err != nil {
		return recoup.Provider{}, err
	}
	next, entry, err := change.Apply(append(found, recoup.Provider{})[0], by)
	if err != nil {
		return next, err
	}
	write := providers.Add
	if len(found) > 0 {
		write = providers.Update
	}
	if err := write(tx, next); err != nil {
		return next, err
	}
	return next, audits.Add(tx, entry)
}
