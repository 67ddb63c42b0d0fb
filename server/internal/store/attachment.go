package store

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Attachment is what a slice writes in the transaction that commits an error: which row of
// another table the error is of, for example. Neither is committed without the other.
type Attachment struct {
	By    Attacher
	Value any // which only By knows
}

// Attacher writes attachments. It must be comparable: attachments of one transaction with the same
// attacher are written together.
type Attacher interface {
	// WriteAttached writes attachments, one per error, in the order of their reports. The errors
	// are written before. It returns errors of its statements: then nothing of the transaction is
	// committed, as with a delayed statement that fails. It may be called again, when the transaction
	// starts over, and is not called for reports that are previewed, refused or repeated.
	WriteAttached(tx sqldb.Tx, list []Attached) error
}

// Attached is an attachment with its error.
type Attached struct {
	ErrorID recoup.ID
	Table   string // of the error: it may be that of orphans
	Attachment
}

// attach keeps an attachment of an error. Of several with the same attacher the last counts.
func (w *UnitOfWork) attach(a *Attachment, e *recoup.Error) {
	if a == nil {
		return
	}
	w.attached = slices.DeleteFunc(w.attached, func(other Attached) bool { return other.ErrorID == e.ID && other.By == a.By })
	w.attached = append(w.attached, Attached{ErrorID: e.ID, Table: e.Table, Attachment: *a})
}

// WriteAttached has the attachments written, those of each attacher together.
func (w *UnitOfWork) WriteAttached(tx sqldb.Tx) error {
	for left := w.attached; len(left) > 0; {
		by := left[0].By
		var own, others []Attached
		for _, a := range left {
			if a.By == by {
				own = append(own, a)
			} else {
				others = append(others, a)
			}
		}
		if err := by.WriteAttached(tx, own); err != nil {
			return err
		}
		left = others
	}
	return nil
}
