package store

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// PendingNotices describes the columns of notices that wait.
var PendingNotices = []sqldb.Column[wire.Notice]{
	sqldb.ID("notice_id", func(n *wire.Notice) *recoup.ID { return &n.ID }).Key().Drawn(),
	sqldb.Text("kind", func(n *wire.Notice) *string { return (*string)(&n.Kind) }).Fixed(),
	sqldb.Text("recipient", func(n *wire.Notice) *string { return &n.To }).Fixed(),
	sqldb.ID("error_id", func(n *wire.Notice) *recoup.ID { return &n.ErrorID }).Fixed(),
	sqldb.Text("dedup_key", func(n *wire.Notice) *string { return &n.Key }).Fixed().Unique(),
	sqldb.JSON("body", func(n *wire.Notice) *string { return (*string)(&n.Body) }).Fixed(),
	sqldb.Time("created_at", func(n *wire.Notice) *time.Time { return &n.CreatedAt }).Fixed(),
	sqldb.Time("due_at", func(n *wire.Notice) *time.Time { return &n.DueAt }),
	sqldb.Int("attempts", func(n *wire.Notice) *int { return &n.Attempts }),
	sqldb.ID("message_id", func(n *wire.Notice) *recoup.ID { return &n.MessageID }),
}

// ClaimedNotices describes those of notices that are to be sent.
var ClaimedNotices = slices.Concat(PendingNotices, []sqldb.Column[wire.Notice]{
	sqldb.JSON("message", func(n *wire.Notice) *string { return (*string)(&n.Message) }),
})

// Notices describes the rows of the outbox. Who adds a notice says nothing of its id.
var Notices = sqldb.Table[wire.Notice]{Name: "recoup.outbox", Columns: slices.Concat(PendingNotices, []sqldb.Column[wire.Notice]{
	sqldb.Time("delivered_at", func(n *wire.Notice) *time.Time { return &n.DeliveredAt }),
	sqldb.Time("given_up_at", func(n *wire.Notice) *time.Time { return &n.GivenUpAt }),
	sqldb.Text("last_error", func(n *wire.Notice) *string { return &n.LastError }),
	sqldb.ID("resend_of", func(n *wire.Notice) *recoup.ID { return &n.ResendOf }).Fixed(),
})}

// OlderNotice orders notices by their age.
func OlderNotice(a, b wire.Notice) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// ResendKey is the key under which a notice that was given up is requeued: once,
// however often it is asked for. If that is given up too, it has an id of its own
// to be requeued by.
func ResendKey(id recoup.ID) string { return "resend:" + id.String() }

// ActNoticeResend is the act of requeuing a notice, as the audit names it.
const ActNoticeResend = "notice.resend"

// MaxOutboxCount is how far notices are counted; beyond, it is "at least".
const MaxOutboxCount = 100_000

// MaxWaitingNotices is how many notices of a kind are looked at that wait.
const MaxWaitingNotices = 10 * sqldb.MaxPage

// OutboxLevel is how full the outbox is.
type OutboxLevel struct {
	Waiting   int64
	OldestDue time.Time // zero: nothing waits
	GivenUp   int64
}
