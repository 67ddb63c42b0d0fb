package api

import (
	"cmp"
	"encoding/json"
	"time"

	"recoup/client"
	"recoup/internal/store"
)

type auditIn struct {
	Actor  string    `query:"actor"`
	Act    string    `query:"act"`
	Target string    `query:"target"`
	From   time.Time `query:"from"`
	To     time.Time `query:"to"`
	page
}

func (a *API) audit(c *call, in *auditIn) (client.AuditPage, error) {
	after, err := auditCursor(in.Cursor)
	if err != nil {
		return client.AuditPage{}, err
	}
	filter := store.AuditFilter{Actor: in.Actor, Act: in.Act, Target: in.Target, From: in.From, To: in.To}
	entries, cursor, err := a.Store.Audit(c.r.Context(), filter, after, cmp.Or(in.Limit, 100))
	return client.AuditPage{Entries: each(entries, auditOf), Next: nextAudit(cursor)}, err
}

func auditOf(e store.AuditEntry) client.AuditEntry {
	return client.AuditEntry{
		Seq: e.Seq, At: e.At, Actor: e.Actor, KeyID: e.Key, Act: e.Act, Target: e.Target, Reason: e.Reason, Details: json.RawMessage(e.Details),
	}
}
