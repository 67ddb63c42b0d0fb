package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"strings"
	"time"

	"recoup"
	"recoup/internal/policy"
	"recoup/internal/store"
)

// The columns of the tables of alerts. The functions below return the fields
// they belong to, in the same order.
const (
	alertColumns = `alert_id, rule, scope, state, severity, action, condition, samples, pending_at, fired_at, resolved_at,
		notified_at, notified, value`
	providerColumns = `group_name, active, since, switched_by, reason, alert_id`
)

func alertFields(a *store.Alert) []any {
	return []any{
		id{&a.ID}, text[string]{&a.Rule}, text[string]{&a.Scope}, text[store.AlertState]{&a.State},
		text[policy.AlertSeverity]{&a.Severity}, text[policy.AlertAction]{&a.Action}, text[string]{&a.Condition},
		bigint{&a.Samples}, stamp{&a.PendingAt}, stamp{&a.FiredAt}, stamp{&a.ResolvedAt}, stamp{&a.NotifiedAt},
		number{&a.Notified}, real{&a.Value},
	}
}

func providerFields(p *store.Provider) []any {
	return []any{
		text[string]{&p.Group}, text[string]{&p.Active}, stamp{&p.Since}, text[string]{&p.By}, text[string]{&p.Reason},
		id{&p.AlertID},
	}
}

// real is a number with a fraction, never null.
type real struct{ to *float64 }

func (f real) Value() (driver.Value, error) { return *f.to, nil }

func (f real) Scan(src any) error {
	v, ok := src.(float64)
	if !ok {
		return unreadable(src, "a number")
	}
	*f.to = v
	return nil
}

const (
	selectAlert      = `select ` + alertColumns + ` from alert`
	selectOpenAlerts = selectAlert + ` where state <> 'RESOLVED' order by rule, coalesce(scope, '') limit 0 + ?`
	updateAlert      = `update alert set rule = ?2, scope = ?3, state = ?4, severity = ?5, action = ?6, condition = ?7, samples = ?8,
		pending_at = ?9, fired_at = ?10, resolved_at = ?11, notified_at = ?12, notified = ?13, value = ?14 where alert_id = ?1`
	purgeAlerts = `delete from alert where alert_id in
		(select alert_id from alert where resolved_at < ? order by resolved_at limit 0 + ?)`
	purgeSilences = `delete from silence where silence_id in
		(select silence_id from silence where created_at < ?1 and until < ?1 order by created_at, silence_id limit 0 + ?2)`
	termHeld = `select exists (select 1 from leader where name = ? and number = ? and holder is not null)`
)

// OpenAlerts returns the alerts that are not resolved, by rule and scope.
func (s *Store) OpenAlerts(ctx context.Context) ([]store.Alert, error) {
	return query(ctx, s, alertFields, selectOpenAlerts, store.MaxOpenAlerts)
}

// Alert returns an alert.
func (s *Store) Alert(ctx context.Context, alertID recoup.ID) (store.Alert, error) {
	list, err := query(ctx, s, alertFields, selectAlert+` where alert_id = ?`, id{&alertID})
	return one(list, err, "alert "+alertID.String())
}

// Alerts lists alerts, newest first.
func (s *Store) Alerts(ctx context.Context, f store.AlertFilter, p store.Page) ([]store.Alert, store.Cursor, error) {
	text, args := listAlerts(f, p)
	list, err := query(ctx, s, alertFields, text, args...)
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.PendingAt, ID: last.ID}, nil
}

// listAlerts reads from the index that has the order for the most telling of the
// filter's conditions.
func listAlerts(f store.AlertFilter, p store.Page) (string, []any) {
	index, where, args := "alert_list_idx", "(pending_at, alert_id) < (?, ?)", []any{from(p.Cursor.At, math.MaxInt64), p.Cursor.ID[:]}
	for _, c := range []struct{ column, value string }{{"scope", f.Scope}, {"rule", f.Rule}} {
		if c.value != "" {
			index, where, args = "alert_"+c.column+"_idx", where+" and "+c.column+" = ?", append(args, c.value)
		}
	}
	if f.Told {
		index, where = "alert_told_idx", "(pending_at, alert_id) < (?, ?) and rule = ? and coalesce(scope, '') = ? and notified > 0"
		args = append(args[:2], f.Rule, f.Scope)
	} else if f.Open() {
		index, where = "alert_open_list_idx", where+" and state <> 'RESOLVED'"
	}
	if len(f.States) > 0 {
		where += " and state in (?" + strings.Repeat(", ?", len(f.States)-1) + ")"
		for _, state := range f.States {
			args = append(args, string(state))
		}
	}
	return selectAlert + " indexed by " + index + " where " + where + " order by pending_at desc, alert_id desc limit 0 + ?", append(args, p.Size())
}

// SaveAlerts writes what an evaluation has changed, if the leader's term is not
// over.
func (s *Store) SaveAlerts(ctx context.Context, term store.Term, now time.Time, v store.Verdict) error {
	if err := v.Check(); err != nil {
		return err
	}
	return s.writer.do(ctx, func(tx *tx) error {
		if err := tx.holdTerm(term); err != nil {
			return err
		}
		for i := range v.Alerts {
			if err := tx.saveAlert(&v.Alerts[i]); err != nil {
				return err
			}
		}
		if _, err := tx.addNotices(now, v.Notices); err != nil {
			return err
		}
		for _, change := range v.Switches {
			if _, err := tx.switchProvider(change, v.Act(change, now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// holdTerm refuses a leader whose term is over.
func (t *tx) holdTerm(term store.Term) error {
	var held bool
	if err := t.row(termHeld, term.Name, term.Number).Scan(&held); err != nil {
		return err
	}
	if !held {
		return fmt.Errorf("%w: this term is over: somebody else leads", store.ErrRefused)
	}
	return nil
}

// saveAlert writes a new version of an alert, or the first.
func (t *tx) saveAlert(a *store.Alert) error {
	n, err := t.change(updateAlert, alertFields(a)...)
	if err != nil || n > 0 {
		return err
	}
	return t.exec(addTo("alert", alertColumns), alertFields(a)...)
}

// PurgeAlerts deletes at most limit alerts that were resolved before a time, and as
// many silences that were over. The guard lets them go because, and as far as, the
// table retention says so for this one transaction.
func (s *Store) PurgeAlerts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		err := tx.exec(`update retention set alert_until = ?`, micros(before))
		if err != nil {
			return err
		}
		n = 0
		for _, purge := range []string{purgeAlerts, purgeSilences} {
			gone, err := tx.change(purge, micros(before), store.Page{Limit: limit}.Size())
			if err != nil {
				return err
			}
			n += gone
		}
		return tx.exec(`update retention set alert_until = null`)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

const (
	selectProvider = `select ` + providerColumns + ` from provider`
	updateProvider = `update provider set active = ?2, since = ?3, switched_by = ?4, reason = ?5, alert_id = ?6 where group_name = ?1`
)

// Providers returns the groups that were ever switched, by name.
func (s *Store) Providers(ctx context.Context) ([]store.Provider, error) {
	return query(ctx, s, providerFields, selectProvider+` order by group_name limit 0 + ?`, store.MaxPage)
}

// SwitchProvider moves a group to another provider.
func (s *Store) SwitchProvider(ctx context.Context, change store.Switch, act store.Act) (next store.Provider, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		next, err = tx.switchProvider(change, act)
		return err
	})
	if err != nil {
		return store.Provider{}, err
	}
	return next, nil
}

func (t *tx) switchProvider(change store.Switch, act store.Act) (store.Provider, error) {
	found, err := collectAll(t, providerFields, selectProvider+` where group_name = ?`, change.Group)
	if err != nil {
		return store.Provider{}, err
	}
	write := updateProvider
	if len(found) == 0 {
		write, found = addTo("provider", providerColumns), []store.Provider{{}}
	}
	next, entry, err := found[0].Switched(change, act)
	if err != nil {
		return store.Provider{}, err
	}
	if err := t.exec(write, providerFields(&next)...); err != nil {
		return store.Provider{}, err
	}
	return next, t.audit(entry)
}
