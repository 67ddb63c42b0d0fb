package api

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

type auditIn struct {
	wire.AuditFilter
	httpapi.Page
}

func (a *API) audit(c *httpapi.Call, in *auditIn) (wire.AuditPage, error) {
	after, err := auditCursor(in.Cursor)
	if err != nil {
		return wire.AuditPage{}, err
	}
	entries, cursor, err := a.Store.Audit(c.Context(), in.AuditFilter, after, cmp.Or(in.Limit, 100))
	return wire.AuditPage{Entries: httpapi.Listed(entries), Next: nextAudit(cursor)}, err
}

// auditCursor is the audit's, which counts.
func auditCursor(s string) (store.AuditCursor, error) {
	if s == "" {
		return store.AuditCursor{}, nil
	}
	at, seq, ok := strings.Cut(s, "-")
	micros, err := strconv.ParseInt(at, 10, 64)
	n, errSeq := strconv.ParseInt(seq, 10, 64)
	c := store.AuditCursor{At: time.UnixMicro(micros).UTC(), Seq: n}
	if !ok || err != nil || errSeq != nil || !httpapi.PlausibleTime(c.At) {
		return store.AuditCursor{}, httpapi.BadCursor()
	}
	return c, nil
}

func nextAudit(c store.AuditCursor) string {
	if c.IsZero() {
		return ""
	}
	return strconv.FormatInt(c.At.UnixMicro(), 10) + "-" + strconv.FormatInt(c.Seq, 10)
}
