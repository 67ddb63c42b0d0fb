package sqldb

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// MaxPage is the maximum number of rows of a page.
const MaxPage = 1000

// Page selects a page of a list. Lists run from new to old; a zero Cursor starts at
// the newest row.
type Page struct {
	Cursor Cursor
	Limit  int // zero: 100; at most MaxPage
}

// Cursor is the position of the last row of a page.
type Cursor struct {
	At time.Time
	ID recoup.ID
}

// IsZero reports whether the cursor is at the start of the list.
func (c Cursor) IsZero() bool { return c.At.IsZero() && c.ID.IsZero() }

// Size returns the number of rows to read.
func (p Page) Size() int {
	if p.Limit <= 0 {
		return 100
	}
	return min(p.Limit, MaxPage)
}

// Clamp limits a number of rows to between 1 and [MaxPage].
func Clamp(limit int) int { return min(max(limit, 1), MaxPage) }

// Next returns the cursor after the last row of a page, or zero if the page is not full.
func Next[R, C any](list []R, size int, at func(*R) C) (cursor C) {
	if len(list) < size {
		return cursor
	}
	return at(&list[len(list)-1])
}
