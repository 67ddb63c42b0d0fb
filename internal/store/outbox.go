package store

import (
	"time"

	"recoup"
	"recoup/internal/store/row"
)

// NoticeState is what became of a notice.
type NoticeState string

// The states of a notice.
const (
	NoticeWaiting   NoticeState = "WAITING"
	NoticeDelivered NoticeState = "DELIVERED"
	NoticeGivenUp   NoticeState = "GIVEN_UP"
)

// NoticeFilter selects notices. Empty fields do not restrict.
type NoticeFilter struct {
	State NoticeState
	To    string
	Kind  recoup.NoticeKind
}

// NoticeRecord is a notice with all that is known of it.
type NoticeRecord struct {
	PendingNotice           // DueAt is zero once it no longer waits
	DeliveredAt   time.Time `json:"delivered_at,omitzero"`
	GivenUpAt     time.Time `json:"given_up_at,omitzero"`
	LastError     string    `json:"last_error,omitempty"`
	ResendOf      recoup.ID `json:"resend_of,omitzero"` // the notice that was given up, of which this is another try
}

// PendingNotices describes the columns of notices that wait.
var PendingNotices = []row.Column[PendingNotice]{
	row.ID("notice_id", func(n *PendingNotice) *recoup.ID { return &n.ID }).Key().Drawn(),
	row.Text("kind", func(n *PendingNotice) *string { return (*string)(&n.Kind) }).Fixed(),
	row.Text("recipient", func(n *PendingNotice) *string { return &n.To }).Fixed(),
	row.ID("error_id", func(n *PendingNotice) *recoup.ID { return &n.ErrorID }).Fixed(),
	row.Text("dedup_key", func(n *PendingNotice) *string { return &n.Key }).Fixed().Unique(),
	row.JSON("body", func(n *PendingNotice) *string { return (*string)(&n.Body) }).Fixed(),
	row.Time("created_at", func(n *PendingNotice) *time.Time { return &n.CreatedAt }).Fixed(),
	row.Time("due_at", func(n *PendingNotice) *time.Time { return &n.DueAt }),
	row.Int("attempts", func(n *PendingNotice) *int { return &n.Attempts }),
}

// Notices describes the rows of the outbox. Who adds a notice says nothing of its id.
var Notices = row.Table[NoticeRecord]{Name: "recoup.outbox", Columns: append(
	row.Within("", PendingNotices, func(n *NoticeRecord) *PendingNotice { return &n.PendingNotice }),
	row.Time("delivered_at", func(n *NoticeRecord) *time.Time { return &n.DeliveredAt }),
	row.Time("given_up_at", func(n *NoticeRecord) *time.Time { return &n.GivenUpAt }),
	row.Text("last_error", func(n *NoticeRecord) *string { return &n.LastError }),
	row.ID("resend_of", func(n *NoticeRecord) *recoup.ID { return &n.ResendOf }).Fixed(),
)}

// State returns what became of the notice.
func (n *NoticeRecord) State() NoticeState {
	switch {
	case !n.DeliveredAt.IsZero():
		return NoticeDelivered
	case !n.GivenUpAt.IsZero():
		return NoticeGivenUp
	}
	return NoticeWaiting
}

// ResendKey is the key under which a notice that was given up is put in again:
// once, however often it is asked for. If that is given up too, it has an id of
// its own to be put in again by.
func ResendKey(id recoup.ID) string { return "resend:" + id.String() }

// ActNoticeResend is the act of putting a notice in again, as the audit names it.
const ActNoticeResend = "notice.resend"

// MaxOutboxCount is how far notices are counted; beyond, it is "at least".
const MaxOutboxCount = 100_000

// MaxWaitingNotices is how many notices of a kind are looked at that wait.
const MaxWaitingNotices = 10 * MaxPage

// OutboxLevel is how full the outbox is.
type OutboxLevel struct {
	Waiting   int64
	OldestDue time.Time // zero: nothing waits
	GivenUp   int64
}
