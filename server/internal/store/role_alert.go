package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// AlertReader returns alerts, silences, and which providers are in use. A resolved alert never changes, and of a rule and a scope
// at most one is not resolved.
type AlertReader interface {
	// Alerts lists alerts, newest first, by when they began to be pending.
	Alerts(ctx context.Context, f AlertFilter, p sqldb.Page) ([]wire.Alert, sqldb.Cursor, error)

	// Silences lists the silences that hold at a time, or all if it is zero, newest
	// first.
	Silences(ctx context.Context, activeAt time.Time, p sqldb.Page) ([]wire.Silence, sqldb.Cursor, error)

	// Providers returns the groups that were ever switched, by name.
	Providers(ctx context.Context) ([]recoup.Provider, error)
}

// AlertWriter keeps what an evaluation finds.
type AlertWriter interface {
	// OpenAlerts returns the alerts that are not resolved, by rule and scope; at
	// most MaxOpenAlerts.
	OpenAlerts(ctx context.Context) ([]wire.Alert, error)

	// SaveAlerts writes what an evaluation has changed, all of it or nothing:
	// alerts, notices (one whose key is there already is not added again), and
	// switches with their rows in the audit. From a leader whose term is not the
	// current one it is ErrRefused; if a switch is not from the provider that
	// is in use, or another evaluation has come first, it is ErrConflict.
	SaveAlerts(ctx context.Context, term Term, now time.Time, v Verdict) error
}

// AlertAdmin is what people do about alerts.
type AlertAdmin interface {
	// Alert returns an alert, else ErrNotFound.
	Alert(ctx context.Context, id recoup.ID) (wire.Alert, error)

	// AddSilence adds a silence, by whoever acts. One without a reason or without
	// any time left is ErrRefused, an id that is known ErrConflict.
	AddSilence(ctx context.Context, s wire.Silence, act Act) (wire.Silence, error)

	// EndSilence ends a silence before its time and returns it as it is then. The
	// first end stands, and one whose time is over is left alone. An unknown id is
	// ErrNotFound.
	EndSilence(ctx context.Context, id recoup.ID, act Act) (wire.Silence, error)

	// SwitchProvider moves a group to another provider. If the switch is not from
	// the one that is in use, or moves nothing, it is ErrConflict.
	SwitchProvider(ctx context.Context, s Switch, act Act) (recoup.Provider, error)
}

// NoticeWriter adds to the outbox.
type NoticeWriter interface {
	// AddNotices adds notices that no error causes, due at once, and returns how
	// many: one whose key is there already is not added again. A body that is not
	// JSON is ErrBadJSON.
	AddNotices(ctx context.Context, now time.Time, notices []wire.Notice) (int, error)
}

// Outbox delivers notices. One waits, or is delivered, or is given up, and is then
// as it is for good.
type Outbox interface {
	NoticeWriter

	// ClaimNotices takes notices that are due, the longest due first, counts the
	// attempt and makes them due again when the lease is over. No notice is handed to
	// two nodes. Those of a message that was saved are taken together: the one that
	// stands for it is returned, with the message, and the others go with it.
	ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]wire.Notice, error)

	// WaitingNotices returns the notices of a kind that wait, claimed or not, oldest
	// first: those of some errors, or, if none are named, those that no error
	// causes; at most MaxWaitingNotices. It knows the kinds PAGE, ALERT,
	// JOB_LATE and JOB_RECOVERED, and none of another.
	WaitingNotices(ctx context.Context, kind wire.NoticeKind, errors []recoup.ID) ([]wire.Notice, error)

	// SaveMessage keeps which notices a message has, and what it says, before it is
	// sent. Neither ever changes: from then on whoever claims them sends that message,
	// and they are put off, delivered or given up together. If one of them is not held
	// under its attempt any more, or is in a message already, it is ErrConflict and
	// nothing is kept.
	SaveMessage(ctx context.Context, m Message) error

	// FinishNotices notes what became of deliveries, and returns of how many: that
	// of an attempt which is not the last one any more, because its lease was over
	// and another has taken the notice, is passed over. What becomes of a notice that
	// stands for a message becomes of all in it. Copies are added in the same commit,
	// but for those whose key is there already.
	FinishNotices(ctx context.Context, now time.Time, deliveries []Delivery) (int, error)
}

// NoticeReader shows what is in the outbox and requeues what was given up.
type NoticeReader interface {
	// Notices lists notices, newest first.
	Notices(ctx context.Context, f wire.NoticeFilter, p sqldb.Page) ([]wire.Notice, sqldb.Cursor, error)

	// ResendNotices requeues notices that were given up, as new ones that name the
	// old, and returns how many: one that waits, is delivered, is unknown or was
	// requeued before is skipped.
	ResendNotices(ctx context.Context, ids []recoup.ID, act Act) (int, error)
}

// OutboxGauge reports how full the outbox is.
type OutboxGauge interface {
	// OutboxLevels says how much waits and how much was given up, each counted up
	// to MaxOutboxCount.
	OutboxLevels(ctx context.Context) (OutboxLevel, error)
}

// PendingReader shows what waits in the outbox.
type PendingReader interface {
	// PendingNotices returns notices that wait to be delivered, longest due first.
	PendingNotices(ctx context.Context, limit int) ([]wire.Notice, error)
}
