package postgres

import (
	"context"
	"fmt"
	"time"

	"recoup"
	"recoup/internal/store"
)

var (
	selectAlert = "select " + names(alertColumns, "") + ", value from recoup.alert"

	insertAlert, updateAlert = func() (insert, update string) {
		set, values := "", ""
		for i, c := range alertColumns {
			value := fmt.Sprintf("$%d::%s", i+1, c.kind.name)
			set, values = set+", "+c.name+" = "+value, values+value+", "
		}
		value := fmt.Sprintf("$%d::float8", len(alertColumns)+1)
		insert = "insert into recoup.alert (" + names(alertColumns, "") + ", value) select " + values + value +
			" where not exists (select from recoup.alert where alert_id = $1)"
		return insert, "update recoup.alert set " + set[2:] + ", value = " + value + " where alert_id = $1"
	}()
)

// OpenAlerts returns the alerts that are not resolved, by rule and scope.
func (s *Store) OpenAlerts(ctx context.Context) ([]store.Alert, error) {
	rows, err := s.pool.Query(ctx, selectAlert+" where state <> 'RESOLVED' order by rule, coalesce(scope, '') limit $1", store.MaxOpenAlerts)
	return collectRows("read alerts", rows, err, readAlert())
}

// Alert returns an alert.
func (s *Store) Alert(ctx context.Context, id recoup.ID) (store.Alert, error) {
	rows, err := s.pool.Query(ctx, selectAlert+" where alert_id = $1", id[:])
	list, err := collectRows("read an alert", rows, err, readAlert())
	return one(list, err, "alert "+id.String())
}

// Alerts lists alerts, newest first.
func (s *Store) Alerts(ctx context.Context, f store.AlertFilter, p store.Page) ([]store.Alert, store.Cursor, error) {
	q := alertQuery(f, p)
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list alerts", rows, err, readAlert())
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.PendingAt, ID: last.ID}, nil
}

// alertQuery says outright when only open alerts are asked for, so that their
// index can serve.
func alertQuery(f store.AlertFilter, p store.Page) *query {
	q := &query{}
	q.add(selectAlert + " where true")
	if f.Open() {
		q.add(" and state <> 'RESOLVED'")
	}
	if len(f.States) > 0 {
		q.add(" and state = any (" + q.arg(f.States) + ")")
	}
	if f.Told {
		q.add(" and notified > 0 and rule = " + q.arg(f.Rule) + " and coalesce(scope, '') = " + q.arg(f.Scope))
	} else {
		q.equal("rule", f.Rule)
		q.equal("scope", f.Scope)
	}
	if !p.Cursor.IsZero() {
		q.add(" and (pending_at, alert_id) < (" + q.arg(p.Cursor.At) + ", " + q.arg(p.Cursor.ID[:]) + ")")
	}
	q.add(" order by pending_at desc, alert_id desc limit " + q.arg(p.Size()))
	return q
}

// SaveAlerts writes what an evaluation has changed, held by the leader's term.
func (s *Store) SaveAlerts(ctx context.Context, term store.Term, now time.Time, v store.Verdict) error {
	if err := v.Check(); err != nil {
		return err
	}
	return s.transact(ctx, "save alerts", time.Time{}, func(t *tx) error {
		t.queue("select recoup.hold_term($1, $2)", term.Name, term.Number)
		for i := range v.Alerts {
			saveAlert(t, &v.Alerts[i])
		}
		if len(v.Notices) > 0 {
			addNotices(t, now, v.Notices)
		}
		for _, change := range v.Switches {
			if _, err := switchProvider(ctx, t, change, v.Act(change, now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// saveAlert queues a new version of an alert, or the first.
func saveAlert(t *tx, a *store.Alert) {
	args := make([]any, 0, len(alertColumns)+1)
	for i := range alertColumns {
		args = append(args, alertColumns[i].one(a))
	}
	args = append(args, a.Value)
	t.queue(updateAlert, args...)
	t.queue(insertAlert, args...)
}

// PurgeAlerts deletes at most limit alerts that were resolved before a time, and as
// many silences that were over.
func (s *Store) PurgeAlerts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.purge_alerts($1, $2) + recoup.purge_silences($1, $2)", before, clamp(limit)).Scan(&n)
	return n, failure("purge alerts", err)
}

// lockProvider makes switches wait for each other: a group that was never
// switched has no row to lock.
const lockProvider = 4

var selectProvider = "select " + names(providerColumns, "") + " from recoup.provider"

// Providers returns the groups that were ever switched, by name.
func (s *Store) Providers(ctx context.Context) ([]store.Provider, error) {
	rows, err := s.pool.Query(ctx, selectProvider+" order by group_name limit $1", store.MaxPage)
	return collectRows("read providers", rows, err, decode(providerColumns))
}

// SwitchProvider moves a group to another provider.
func (s *Store) SwitchProvider(ctx context.Context, change store.Switch, act store.Act) (next store.Provider, err error) {
	err = s.transact(ctx, "switch a provider", time.Time{}, func(t *tx) error {
		next, err = switchProvider(ctx, t, change, act)
		return err
	})
	if err != nil {
		return store.Provider{}, err
	}
	return next, nil
}

func switchProvider(ctx context.Context, t *tx, change store.Switch, act store.Act) (store.Provider, error) {
	t.queue("select pg_advisory_xact_lock($1, $2)", serviceLock, lockProvider)
	if err := t.send(ctx); err != nil { // what others have switched is seen by the next statement
		return store.Provider{}, err
	}
	var found []store.Provider
	collect(t.queue(selectProvider+" where group_name = $1", change.Group), decode(providerColumns), &found)
	if err := t.send(ctx); err != nil {
		return store.Provider{}, err
	}
	var current store.Provider
	if len(found) > 0 {
		current = found[0]
	}
	next, entry, err := current.Switched(change, act)
	if err != nil {
		return current, err
	}
	if len(found) > 0 {
		setRows(t, "recoup.provider", providerColumns, []store.Provider{next})
	} else {
		addRows(t, "recoup.provider", providerColumns, []store.Provider{next}, "")
	}
	audit(t, entry)
	return next, nil
}
