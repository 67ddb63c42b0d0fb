package store

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/row"
)

// Operations describes the rows of operations.
var Operations = row.Table[recoup.Operation]{Name: "recoup.operation", Columns: []row.Column[recoup.Operation]{
	row.ID("operation_id", func(o *recoup.Operation) *recoup.ID { return &o.ID }).Key(),
	row.Text("state", func(o *recoup.Operation) *string { return (*string)(&o.State) }),
	row.Text("act", func(o *recoup.Operation) *string { return &o.Act }).Fixed(),
	row.JSONOf("input", func(o *recoup.Operation) *recoup.Act { return &o.Input }),
	row.JSON("filter", func(o *recoup.Operation) *string { return (*string)(&o.Filter) }).Fixed(),
	row.Text("hub", func(o *recoup.Operation) *string { return &o.Hub }),
	row.Int("members", func(o *recoup.Operation) *int { return &o.Members }),
	row.Int("applied", func(o *recoup.Operation) *int { return &o.Applied }),
	row.Int("refused", func(o *recoup.Operation) *int { return &o.Refused }),
	row.Time("created_at", func(o *recoup.Operation) *time.Time { return &o.CreatedAt }).Fixed(),
	row.Text("created_by", func(o *recoup.Operation) *string { return &o.CreatedBy }).Fixed(),
	row.ID("created_key", func(o *recoup.Operation) *recoup.ID { return &o.CreatedKey }).Fixed(),
	row.Time("confirmed_at", func(o *recoup.Operation) *time.Time { return &o.ConfirmedAt }),
	row.Text("confirmed_by", func(o *recoup.Operation) *string { return &o.ConfirmedBy }),
	row.Time("state_at", func(o *recoup.Operation) *time.Time { return &o.StateAt }),
	row.Text("state_by", func(o *recoup.Operation) *string { return &o.StateBy }),
	row.Text("state_reason", func(o *recoup.Operation) *string { return &o.Why }),
	row.Time("ended_at", func(o *recoup.Operation) *time.Time { return &o.EndedAt }),
	row.Time("expires_at", func(o *recoup.Operation) *time.Time { return &o.ExpiresAt }),
}}

// OperationItems describes the members of operations.
var OperationItems = row.Table[recoup.OperationItem]{Name: "recoup.operation_item", Columns: []row.Column[recoup.OperationItem]{
	row.ID("operation_id", func(i *recoup.OperationItem) *recoup.ID { return &i.OperationID }).Key(),
	row.Int("position", func(i *recoup.OperationItem) *int { return &i.Position }).Key(),
	row.ID("error_id", func(i *recoup.OperationItem) *recoup.ID { return &i.ErrorID }).Fixed(),
	row.Time("seen_at", func(i *recoup.OperationItem) *time.Time { return &i.SeenAt }).Fixed(),
	row.Text("result", func(i *recoup.OperationItem) *string { return (*string)(&i.Result) }),
	row.Text("code", func(i *recoup.OperationItem) *string { return (*string)(&i.Code) }),
	row.Text("reason", func(i *recoup.OperationItem) *string { return &i.Reason }),
	row.Time("ended_at", func(i *recoup.OperationItem) *time.Time { return &i.EndedAt }),
}}

// OperationFilter selects operations. What is empty does not restrict.
type OperationFilter struct {
	State recoup.OperationState
	Hubs  []string
}

// DecideOperation is what a verb asks about an operation that it has locked: how it goes
// on, and what the audit keeps of that. It is pure.
type DecideOperation func(current recoup.Operation, now time.Time) (recoup.Operation, []recoup.AuditEntry, error)

// Carrier carries out a part of an operation. It keeps nothing between calls, because
// the database may have it start over.
type Carrier interface {
	// Steps returns what is to be done with the next members, one step each.
	Steps(o *recoup.Operation, next []recoup.OperationItem) []Step

	// Settle gives the members their results by the outcomes of their steps, and says how
	// the operation goes on. last says that no member is left.
	Settle(o recoup.Operation, next []recoup.OperationItem, outcomes []Outcome, last bool, now time.Time) recoup.Operation
}
