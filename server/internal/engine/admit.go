package engine

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// cutOff is how much is taken from the end of a message that the database has cut: the cut
// may lie within a secret, whose beginning no rule finds.
const cutOff = 4096

// cutNote is the end of a message that the database has cut (cut_message and error_plain in
// the migrations 005).
var cutNote = regexp.MustCompile(` \[cut: \d+ bytes\]$`)

// admitBatch is how many rows of plain SQL are admitted at once.
const admitBatch = 200

// Admit brings rows that plain SQL has written under the policy, and returns how
// many. Until then they block and are not retried. What their writer put into
// the message is cleaned. They stay in the table where the database has put them, also
// without the entity that it requires, and also if it has left the policy.
func (e *Engine) Admit(ctx context.Context) (int, error) {
	rows, err := e.Store.Unadmitted(ctx, admitBatch)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	batch, events := make([]store.Report, len(rows)), make([]recoup.Event, len(rows))
	for i := range rows {
		batch[i], events[i] = e.admission(&rows[i]), e.admitted(&rows[i])
	}
	if err := e.keep(ctx, e.Now(), batch, events); err != nil {
		return 0, err
	}
	outcomes, err := e.report(ctx, batch)
	if err != nil {
		return 0, err
	}
	admitted, refused := 0, []error(nil)
	for i := range outcomes {
		switch err := outcomes[i].Err; {
		case err == nil:
			admitted++
		case !errors.Is(err, sqldb.ErrNotFound): // another node was faster
			refused = append(refused, err)
		}
	}
	e.announce(outcomes)
	return admitted, errors.Join(refused...)
}

// admitted is what a row that plain SQL has written says to the ledger. Where its
// writer took for a code what cannot be one, or looks like a secret, the ledger keeps
// the code that stands for all such.
func (e *Engine) admitted(row *recoup.Error) recoup.Event {
	code := row.Code
	def, _, err := e.Codes().Fold(string(code))
	if err != nil || def.Code != code && e.Redactor.Identifier(string(code)) != nil {
		code = fault.CodeUnregisteredCode
	}
	return event(&recoup.Report{Table: row.Table}, code, row.CreatedAt)
}

// admission is the report that a row stands for. What its writer took for a code
// is judged as one that nobody registered if it cannot be one.
func (e *Engine) admission(row *recoup.Error) store.Report {
	message, _ := e.Redactor.String(row.Message)
	message = withoutEnd(message)
	def, _, err := e.Codes().Fold(string(row.Code))
	if err != nil {
		def, _, _ = e.Codes().Fold(string(fault.CodeUnregisteredCode))
	}
	r := e.decided(lifecycle.Report{
		ID: row.ID, Table: row.Table, EntityID: row.EntityID, Message: message, CreatedAt: row.CreatedAt, Stands: true,
		ReportedTable: row.ReportedTable,
		Failure:       lifecycle.Failure{Code: row.Code, Class: def.Effective(false), Category: def.Category},
		Severity:      severity(row.Severity, def), CorrelationID: row.CorrelationID,
	})
	r.Admits = row.ID
	return r
}

// withoutEnd returns a message without what may be the beginning of a secret, if the database
// has cut it.
func withoutEnd(message string) string {
	note := cutNote.FindString(message)
	if note == "" {
		return message
	}
	return strings.ToValidUTF8(message[:max(0, len(message)-len(note)-cutOff)], "") + note
}
