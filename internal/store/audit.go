package store

import (
	"time"

	"recoup"
	"recoup/internal/store/row"
)

// Act is who does something administrative, when and why. The verb that does it
// writes it down in the same commit.
type Act struct {
	By     string
	Key    recoup.ID // the API key that By used; zero: none was needed
	Reason string
	At     time.Time
}

// The acts of the stores' own verbs, as the audit names them.
const (
	ActKeyCreate         = "key.create"
	ActKeyRevoke         = "key.revoke"
	ActKeyRotate         = "key.rotate"
	ActPolicyAdd         = "policy.add"
	ActPlatformKeyAdd    = "platform_key.add"
	ActPlatformKeyDelete = "platform_key.delete"
	ActPlatformKeyWrap   = "platform_key.wrap"
)

// AuditEntry is one row of the audit. Rows are only ever added.
type AuditEntry struct {
	Seq     int64       `json:"seq"` // drawn by the database
	At      time.Time   `json:"at"`
	Actor   string      `json:"actor"`
	Key     recoup.ID   `json:"key_id,omitzero"` // that the actor used; names can be alike
	Act     string      `json:"act"`
	Target  string      `json:"target,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Details recoup.JSON `json:"details,omitempty"`
}

// Audits describes the rows of the audit.
var Audits = row.Table[AuditEntry]{Name: "recoup.audit", Columns: []row.Column[AuditEntry]{
	row.Big("seq", func(a *AuditEntry) *int64 { return &a.Seq }).Key().Drawn(),
	row.Time("at", func(a *AuditEntry) *time.Time { return &a.At }).Fixed(),
	row.Text("actor", func(a *AuditEntry) *string { return &a.Actor }).Fixed(),
	row.ID("key_id", func(a *AuditEntry) *recoup.ID { return &a.Key }).Fixed(),
	row.Text("act", func(a *AuditEntry) *string { return &a.Act }).Fixed(),
	row.Text("target", func(a *AuditEntry) *string { return &a.Target }).Fixed(),
	row.Text("reason", func(a *AuditEntry) *string { return &a.Reason }).Fixed(),
	row.JSON("details", func(a *AuditEntry) *string { return (*string)(&a.Details) }).Fixed(),
}}

// On returns the row that tells of the act. The details are an object that may
// be nil.
func (a Act) On(act, target string, details map[string]any) AuditEntry {
	return AuditEntry{At: a.At, Actor: a.By, Key: a.Key, Act: act, Target: target, Reason: a.Reason, Details: recoup.EncodeJSON(details)}
}

// AuditFilter selects rows of the audit. Empty fields do not restrict; all that
// are set must hold.
type AuditFilter struct {
	Actor, Act, Target string
	From, To           time.Time // in [From, To)
}

// AuditCursor is the position of the last row seen in the audit, which is listed
// from new to old.
type AuditCursor struct {
	At  time.Time
	Seq int64
}

// IsZero reports whether the cursor stands at the beginning.
func (c AuditCursor) IsZero() bool { return c.At.IsZero() && c.Seq == 0 }
