package api

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// page is what every list takes.
type page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
	Cursor string `query:"cursor" doc:"where the last page ended: its next"`
}

// read returns where a list goes on.
func (p page) read() (store.Page, error) {
	if p.Cursor == "" {
		return store.Page{Limit: p.Limit}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(b) != 24 {
		return store.Page{}, badCursor()
	}
	c := store.Cursor{At: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()}
	if !plausible(c.At) {
		return store.Page{}, badCursor()
	}
	copy(c.ID[:], b[8:])
	return store.Page{Limit: p.Limit, Cursor: c}, nil
}

// plausible reports whether a store can have given a time to a cursor: one that
// was made up may be beyond what the database can hold.
func plausible(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 10000 }

func badCursor() error {
	return fault.BadField("cursor", "format", "cursor must be the next of the page before")
}

// next returns the cursor of the following page; empty: there is none.
func next(c store.Cursor) string {
	if c.IsZero() {
		return ""
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24), uint64(c.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, c.ID[:]...))
}

// idIn is the id in a path.
type idIn struct {
	ID recoup.ID `path:"id" doc:"a UUID, or a ULID"`
}
