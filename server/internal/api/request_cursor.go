package api

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// page is what every list takes.
type page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
	Cursor string `query:"cursor" doc:"where the last page ended: its next"`
}

// read returns where a list goes on.
func (p page) read() (sqldb.Page, error) {
	if p.Cursor == "" {
		return sqldb.Page{Limit: p.Limit}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(b) != 24 {
		return sqldb.Page{}, badCursor()
	}
	c := sqldb.Cursor{At: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()}
	if !plausible(c.At) {
		return sqldb.Page{}, badCursor()
	}
	copy(c.ID[:], b[8:])
	return sqldb.Page{Limit: p.Limit, Cursor: c}, nil
}

// plausible reports whether a store can have given a time to a cursor: one that
// was made up may be beyond what the database can hold.
func plausible(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 10000 }

func badCursor() error {
	return fault.BadField("cursor", "format", "cursor must be the next of the page before")
}

// next returns the cursor of the following page; empty: there is none.
func next(c sqldb.Cursor) string {
	if c.IsZero() {
		return ""
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24), uint64(c.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, c.ID[:]...))
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
	if !ok || err != nil || errSeq != nil || !plausible(c.At) {
		return store.AuditCursor{}, badCursor()
	}
	return c, nil
}

func nextAudit(c store.AuditCursor) string {
	if c.IsZero() {
		return ""
	}
	return strconv.FormatInt(c.At.UnixMicro(), 10) + "-" + strconv.FormatInt(c.Seq, 10)
}

// visible is an error as lists show it: the token of a lease is its worker's.
func visible(errs ...recoup.Error) []recoup.Error {
	for i := range errs {
		errs[i] = errs[i].Public()
	}
	return listed(errs)
}
