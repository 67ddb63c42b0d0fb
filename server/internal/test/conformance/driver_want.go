package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	minute = time.Minute
	day    = 24 * time.Hour
)

// wantState says in which state an error must be stored.
func (d *Driver) wantState(id recoup.ID, want recoup.State) {
	d.Helper()
	if got := d.Read(id).State; got != want {
		d.Errorf("%v is %s, want %s", id, got, want)
	}
}

// wantOpen says how many errors a list must have.
func (d *Driver) wantOpen(f store.Filter, want int) {
	d.Helper()
	if got := d.List(f); len(got) != want {
		d.Errorf("%d errors are listed by %+v, want %d", len(got), f, want)
	}
}

// wantHistory says which inputs an error's history must have, in order.
func (d *Driver) wantHistory(id recoup.ID, want ...string) {
	d.Helper()
	rows, err := d.Store.History(d.Context(), id, sqldb.MaxPage)
	if err != nil {
		d.Fatalf("history: %v", err)
	}
	got := make([]string, len(rows))
	for i := range rows {
		got[i] = rows[i].Input
	}
	if !slices.Equal(got, want) {
		d.Errorf("the history tells of %v, want %v", got, want)
	}
}

// wantNotices says which notices about an error must wait.
func (d *Driver) wantNotices(id recoup.ID, want ...wire.NoticeKind) {
	d.Helper()
	pending, err := d.Store.PendingNotices(d.Context(), sqldb.MaxPage)
	if err != nil {
		d.Fatalf("notices: %v", err)
	}
	var got []wire.NoticeKind
	for _, n := range pending {
		if n.ErrorID == id {
			got = append(got, n.Kind)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		d.Errorf("notices about %v: %v, want %v", id, got, want)
	}
}

// wantIDs says which errors a list must have, in which order.
func (d *Driver) wantIDs(got []recoup.Error, want ...recoup.ID) {
	d.Helper()
	if !slices.Equal(ids(got), want) {
		d.Fatalf("got %v, want %v", ids(got), want)
	}
}

// wantRefusal says that the state machine must have refused, with a code.
func (d *Driver) wantRefusal(err error, code recoup.Code) {
	d.Helper()
	var refusal *lifecycle.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		d.Errorf("answered with %v, want %s", err, code)
	}
}

// wantRefusalOf says that the state machine must have refused an act.
func (d *Driver) wantRefusalOf(out store.Outcome, name string) {
	d.Helper()
	var refusal *lifecycle.Refusal
	if !errors.As(out.Err, &refusal) {
		d.Errorf("%s was answered with %v, want a refusal", name, out.Err)
	}
}
