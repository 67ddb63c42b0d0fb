package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Page has the parameters of a list.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
	Cursor string `query:"cursor" doc:"where the last page ended: its next"`
}

// StorePage returns the page that the store is asked for.
func (p Page) StorePage() (sqldb.Page, error) {
	if p.Cursor == "" {
		return sqldb.Page{Limit: p.Limit}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(b) != 24 {
		return sqldb.Page{}, BadCursor()
	}
	c := sqldb.Cursor{At: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()}
	if !PlausibleTime(c.At) {
		return sqldb.Page{}, BadCursor()
	}
	copy(c.ID[:], b[8:])
	return sqldb.Page{Limit: p.Limit, Cursor: c}, nil
}

// PlausibleTime reports whether the time of a cursor can come from a store. A made-up time may
// be out of the database's range.
func PlausibleTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 10000 }

// BadCursor returns the failure of a cursor that no list has returned.
func BadCursor() error {
	return fault.BadField("cursor", "format", "cursor must be the next of the page before")
}

// NextCursor returns the cursor of the next page; empty: this page is the last.
func NextCursor(c sqldb.Cursor) string {
	if c.IsZero() {
		return ""
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24), uint64(c.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, c.ID[:]...))
}

// IDParam has the id of a path.
type IDParam struct {
	ID recoup.ID `path:"id" doc:"a UUID, or a ULID"`
}
