package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Views describes the rows of saved views.
var Views = sqldb.Table[wire.View]{Name: "recoup.saved_view", Columns: []sqldb.Column[wire.View]{
	sqldb.ID("view_id", func(v *wire.View) *recoup.ID { return &v.ID }).Key(),
	sqldb.Text("name", func(v *wire.View) *string { return &v.Name }),
	sqldb.List("tokens", func(v *wire.View) *[]string { return &v.Tokens }),
	sqldb.Text("owner", func(v *wire.View) *string { return &v.Owner }),
	sqldb.ID("owner_key", func(v *wire.View) *recoup.ID { return &v.OwnerKey }),
	sqldb.Text("hub", func(v *wire.View) *string { return &v.Hub }),
	sqldb.Time("created_at", func(v *wire.View) *time.Time { return &v.CreatedAt }).Fixed(),
	sqldb.Time("changed_at", func(v *wire.View) *time.Time { return &v.ChangedAt }),
	sqldb.Text("changed_by", func(v *wire.View) *string { return &v.ChangedBy }),
}}

// The acts on views, as the audit names them.
const (
	ActViewAdd    = "view.add"
	ActViewChange = "view.change"
	ActViewDelete = "view.delete"
)

// ErrFull is returned for one more of what there can only be so many of.
var ErrFull = fmt.Errorf("%w: there are as many as there can be", ErrRefused)

// SaveView returns a view as the act saves it: now, by whoever acts, and theirs unless it
// is shared within a hub. The owner is the first key of the rotations that led to the key of
// the act.
func (a Act) SaveView(v wire.View, owner recoup.ID) wire.View {
	if v.CreatedAt.IsZero() {
		v.CreatedAt = kept(a.At)
	}
	v.ChangedAt, v.ChangedBy, v.Owner, v.OwnerKey = kept(a.At), a.By, "", recoup.ID{}
	if v.Hub == "" {
		v.Owner, v.OwnerKey = a.By, owner
	}
	return v
}

// OnView returns the row of the audit for an act on a view.
func (a Act) OnView(act string, v *wire.View) wire.AuditEntry {
	about := map[string]any{"name": v.Name, "tokens": v.Tokens}
	if v.Hub != "" {
		about["hub"] = v.Hub
	}
	return a.On(act, v.ID.String(), about)
}

// FitView decides whether a view can be saved among all that its owner or hub has: under a
// name of its own, else ErrConflict, and if there is room for it, else ErrFull.
func FitView(v *wire.View, all []wire.View) error {
	others := slices.DeleteFunc(slices.Clone(all), func(o wire.View) bool { return o.ID == v.ID })
	switch {
	case slices.ContainsFunc(others, func(o wire.View) bool { return o.Name == v.Name }):
		return fmt.Errorf("view %s: %w", v.Name, ErrConflict)
	case len(others) >= wire.MaxViews:
		return fmt.Errorf("view %s: %w", v.Name, ErrFull)
	}
	return nil
}
