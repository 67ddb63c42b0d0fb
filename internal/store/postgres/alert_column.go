package postgres

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/policy"
	"recoup/internal/store"
)

// The columns of the tables of alerts and where each belongs.
var (
	// alertColumns are those but the value, which comes last.
	alertColumns = func() []column[store.Alert] {
		type a = store.Alert
		return []column[a]{
			id("alert_id", func(a *a) *recoup.ID { return &a.ID }),
			text("rule", func(a *a) *string { return &a.Rule }),
			text("scope", func(a *a) *string { return &a.Scope }),
			text("state", func(a *a) *store.AlertState { return &a.State }),
			text("severity", func(a *a) *policy.AlertSeverity { return &a.Severity }),
			text("action", func(a *a) *policy.AlertAction { return &a.Action }),
			text("condition", func(a *a) *string { return &a.Condition }),
			bigint("samples", func(a *a) *int64 { return &a.Samples }),
			stamp("pending_at", func(a *a) *time.Time { return &a.PendingAt }),
			stamp("fired_at", func(a *a) *time.Time { return &a.FiredAt }),
			stamp("resolved_at", func(a *a) *time.Time { return &a.ResolvedAt }),
			stamp("notified_at", func(a *a) *time.Time { return &a.NotifiedAt }),
			number("notified", func(a *a) *int { return &a.Notified }),
		}
	}()

	silenceColumns = func() []column[store.Silence] {
		type s = store.Silence
		return []column[s]{
			id("silence_id", func(s *s) *recoup.ID { return &s.ID }),
			text("rule", func(s *s) *string { return &s.Rule }),
			text("scope", func(s *s) *string { return &s.Scope }),
			stamp("until", func(s *s) *time.Time { return &s.Until }),
			text("reason", func(s *s) *string { return &s.Reason }),
			stamp("created_at", func(s *s) *time.Time { return &s.At }),
			text("created_by", func(s *s) *string { return &s.By }),
			stamp("ended_at", func(s *s) *time.Time { return &s.EndedAt }),
			text("ended_by", func(s *s) *string { return &s.EndedBy }),
		}
	}()

	providerColumns = func() []column[store.Provider] {
		type p = store.Provider
		return []column[p]{
			text("group_name", func(p *p) *string { return &p.Group }),
			text("active", func(p *p) *string { return &p.Active }),
			stamp("since", func(p *p) *time.Time { return &p.Since }),
			text("switched_by", func(p *p) *string { return &p.By }),
			text("reason", func(p *p) *string { return &p.Reason }),
			id("alert_id", func(p *p) *recoup.ID { return &p.AlertID }),
		}
	}()
)

// readAlert reads a row of the alert's columns and its value.
func readAlert() pgx.RowToFunc[store.Alert] {
	read := decode(alertColumns)
	return func(row pgx.CollectableRow) (store.Alert, error) {
		a, err := read(row)
		if err != nil {
			return a, err
		}
		value := row.RawValues()[len(alertColumns)]
		if len(value) != 8 {
			return a, errors.New("column value holds no number")
		}
		a.Value = math.Float64frombits(binary.BigEndian.Uint64(value))
		return a, nil
	}
}
