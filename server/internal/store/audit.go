package store

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
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

// Audits describes the rows of the audit.
var Audits = sqldb.Table[wire.AuditEntry]{Name: "recoup.audit", Columns: []sqldb.Column[wire.AuditEntry]{
	sqldb.Big("seq", func(a *wire.AuditEntry) *int64 { return &a.Seq }).Key().Drawn(),
	sqldb.Time("at", func(a *wire.AuditEntry) *time.Time { return &a.At }).Fixed(),
	sqldb.Text("actor", func(a *wire.AuditEntry) *string { return &a.Actor }).Fixed(),
	sqldb.ID("key_id", func(a *wire.AuditEntry) *recoup.ID { return &a.KeyID }).Fixed(),
	sqldb.Text("act", func(a *wire.AuditEntry) *string { return &a.Act }).Fixed(),
	sqldb.Text("target", func(a *wire.AuditEntry) *string { return &a.Target }).Fixed(),
	sqldb.Text("reason", func(a *wire.AuditEntry) *string { return &a.Reason }).Fixed(),
	sqldb.JSON("details", func(a *wire.AuditEntry) *string { return (*string)(&a.Details) }).Fixed(),
}}

// On returns the row that records the act. The details are an object that may
// be nil.
func (a Act) On(act, target string, details map[string]any) wire.AuditEntry {
	return wire.AuditEntry{At: a.At, Actor: a.By, KeyID: a.Key, Act: act, Target: target, Reason: a.Reason, Details: recoup.EncodeJSON(details)}
}

// AuditCursor is the position of the last row seen in the audit, which is listed
// from new to old.
type AuditCursor struct {
	At  time.Time
	Seq int64
}

// IsZero reports whether the cursor stands at the beginning.
func (c AuditCursor) IsZero() bool { return c.At.IsZero() && c.Seq == 0 }
