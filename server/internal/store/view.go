package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Views describes the rows of saved views.
var Views = sqldb.Table[recoup.View]{Name: "recoup.saved_view", Columns: []sqldb.Column[recoup.View]{
	sqldb.ID("view_id", func(v *recoup.View) *recoup.ID { return &v.ID }).Key(),
	sqldb.Text("name", func(v *recoup.View) *string { return &v.Name }),
	sqldb.List("tokens", func(v *recoup.View) *[]string { return &v.Tokens }),
	sqldb.Text("owner", func(v *recoup.View) *string { return &v.Owner }),
	sqldb.ID("owner_key", func(v *recoup.View) *recoup.ID { return &v.OwnerKey }),
	sqldb.Text("hub", func(v *recoup.View) *string { return &v.Hub }),
	sqldb.Time("created_at", func(v *recoup.View) *time.Time { return &v.CreatedAt }).Fixed(),
	sqldb.Time("changed_at", func(v *recoup.View) *time.Time { return &v.ChangedAt }),
	sqldb.Text("changed_by", func(v *recoup.View) *string { return &v.ChangedBy }),
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
func (a Act) SaveView(v recoup.View, owner recoup.ID) recoup.View {
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
func (a Act) OnView(act string, v *recoup.View) recoup.AuditEntry {
	about := map[string]any{"name": v.Name, "tokens": v.Tokens}
	if v.Hub != "" {
		about["hub"] = v.Hub
	}
	return a.On(act, v.ID.String(), about)
}

// FitView decides whether a view can be saved among all that its owner or hub has: under a
// name of its own, else ErrConflict, and if there is room for it, else ErrFull.
func FitView(v *recoup.View, all []recoup.View) error {
	others := slices.DeleteFunc(slices.Clone(all), func(o recoup.View) bool { return o.ID == v.ID })
	switch {
	case slices.ContainsFunc(others, func(o recoup.View) bool { return o.Name == v.Name }):
		return fmt.Errorf("view %s: %w", v.Name, ErrConflict)
	case len(others) >= recoup.MaxViews:
		return fmt.Errorf("view %s: %w", v.Name, ErrFull)
	}
	return nil
}
