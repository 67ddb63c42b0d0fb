package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Page is what every list takes.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
	Cursor string `query:"cursor" doc:"where the last page ended: its next"`
}

// StorePage returns where a list goes on.
func (p Page) StorePage() (store.Page, error) {
	if p.Cursor == "" {
		return store.Page{Limit: p.Limit}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(b) != 24 {
		return store.Page{}, BadCursor()
	}
	c := store.Cursor{At: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()}
	if !PlausibleTime(c.At) {
		return store.Page{}, BadCursor()
	}
	copy(c.ID[:], b[8:])
	return store.Page{Limit: p.Limit, Cursor: c}, nil
}

// PlausibleTime reports whether a store can have given a time to a cursor: one that
// was made up may be beyond what the database can hold.
func PlausibleTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 10000 }

func BadCursor() error {
	return fault.BadField("cursor", "format", "cursor must be the next of the page before")
}

// NextCursor returns the cursor of the following page; empty: there is none.
func NextCursor(c store.Cursor) string {
	if c.IsZero() {
		return ""
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24), uint64(c.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, c.ID[:]...))
}

// IDParam is the id in a path.
type IDParam struct {
	ID recoup.ID `path:"id" doc:"a UUID, or a ULID"`
}
