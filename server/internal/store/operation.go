package store

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Operations describes the rows of operations.
var Operations = sqldb.Table[recoup.Operation]{Name: "recoup.operation", Columns: []sqldb.Column[recoup.Operation]{
	sqldb.ID("operation_id", func(o *recoup.Operation) *recoup.ID { return &o.ID }).Key(),
	sqldb.Text("state", func(o *recoup.Operation) *string { return (*string)(&o.State) }),
	sqldb.Text("act", func(o *recoup.Operation) *string { return &o.Act }).Fixed(),
	sqldb.JSONOf("input", func(o *recoup.Operation) *recoup.Act { return &o.Input }),
	sqldb.JSON("filter", func(o *recoup.Operation) *string { return (*string)(&o.Filter) }).Fixed(),
	sqldb.Text("hub", func(o *recoup.Operation) *string { return &o.Hub }),
	sqldb.Int("members", func(o *recoup.Operation) *int { return &o.Members }),
	sqldb.Int("applied", func(o *recoup.Operation) *int { return &o.Applied }),
	sqldb.Int("refused", func(o *recoup.Operation) *int { return &o.Refused }),
	sqldb.Time("created_at", func(o *recoup.Operation) *time.Time { return &o.CreatedAt }).Fixed(),
	sqldb.Text("created_by", func(o *recoup.Operation) *string { return &o.CreatedBy }).Fixed(),
	sqldb.ID("created_key", func(o *recoup.Operation) *recoup.ID { return &o.CreatedKey }).Fixed(),
	sqldb.Time("confirmed_at", func(o *recoup.Operation) *time.Time { return &o.ConfirmedAt }),
	sqldb.Text("confirmed_by", func(o *recoup.Operation) *string { return &o.ConfirmedBy }),
	sqldb.Time("state_at", func(o *recoup.Operation) *time.Time { return &o.StateAt }),
	sqldb.Text("state_by", func(o *recoup.Operation) *string { return &o.StateBy }),
	sqldb.Text("state_reason", func(o *recoup.Operation) *string { return &o.Why }),
	sqldb.Time("ended_at", func(o *recoup.Operation) *time.Time { return &o.EndedAt }),
	sqldb.Time("expires_at", func(o *recoup.Operation) *time.Time { return &o.ExpiresAt }),
}}

// OperationItems describes the members of operations.
var OperationItems = sqldb.Table[recoup.OperationItem]{Name: "recoup.operation_item", Columns: []sqldb.Column[recoup.OperationItem]{
	sqldb.ID("operation_id", func(i *recoup.OperationItem) *recoup.ID { return &i.OperationID }).Key(),
	sqldb.Int("position", func(i *recoup.OperationItem) *int { return &i.Position }).Key(),
	sqldb.ID("error_id", func(i *recoup.OperationItem) *recoup.ID { return &i.ErrorID }).Fixed(),
	sqldb.Time("seen_at", func(i *recoup.OperationItem) *time.Time { return &i.SeenAt }).Fixed(),
	sqldb.Text("result", func(i *recoup.OperationItem) *string { return (*string)(&i.Result) }),
	sqldb.Text("code", func(i *recoup.OperationItem) *string { return (*string)(&i.Code) }),
	sqldb.Text("reason", func(i *recoup.OperationItem) *string { return &i.Reason }),
	sqldb.Time("ended_at", func(i *recoup.OperationItem) *time.Time { return &i.EndedAt }),
}}

// OperationFilter selects operations. What is empty does not restrict.
type OperationFilter struct {
	State recoup.OperationState
	Hubs  []string
}

// DecideOperation is what a verb asks about an operation that it has locked: how it goes
// on, and what the audit keeps of that. It is pure.
type DecideOperation func(current recoup.Operation, now time.Time) (recoup.Operation, []wire.AuditEntry, error)

// Carrier carries out a part of an operation. It keeps nothing between calls, because
// the database may have it start over.
type Carrier interface {
	// Steps returns what is to be done with the next members, one step each.
	Steps(o *recoup.Operation, next []recoup.OperationItem) []Step

	// Settle gives the members their results by the outcomes of their steps, and says how
	// the operation goes on. last says that no member is left.
	Settle(o recoup.Operation, next []recoup.OperationItem, outcomes []Outcome, last bool, now time.Time) recoup.Operation
}
