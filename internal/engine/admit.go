package engine

import (
	"context"
	"errors"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// admitBatch is how many rows of plain SQL are admitted at once.
const admitBatch = 200

// Admit brings rows that plain SQL has written under the policy, and returns how
// many. Until then they block and are not retried. What their writer put into
// the message is cleaned. They stay in the table they were written into, also
// without the entity that it requires, and also if it has left the policy.
func (e *Engine) Admit(ctx context.Context) (int, error) {
	rows, err := e.Store.Unadmitted(ctx, admitBatch)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	now := e.Now()
	batch := make([]store.Report, len(rows))
	for i := range rows {
		batch[i] = e.admission(&rows[i], now)
	}
	outcomes, err := e.report(ctx, now, batch)
	if err != nil {
		return 0, err
	}
	admitted, events, refused := 0, []recoup.Event(nil), []error(nil)
	for i := range outcomes {
		switch err := outcomes[i].Err; {
		case err == nil:
			admitted++
			made := event(&Report{Table: rows[i].Table}, &outcomes[i])
			if _, _, err := e.Codes().Fold(string(made.Code)); err != nil {
				made.Code = fault.CodeUnregisteredCode // the ledger takes codes only
			}
			events = append(events, made)
		case !errors.Is(err, store.ErrNotFound): // another node was faster
			refused = append(refused, err)
		}
	}
	e.announce(outcomes, now)
	return admitted, errors.Join(append(refused, e.record(ctx, now, events))...)
}

// admission is the report that a row stands for. What its writer took for a code
// is judged as one that nobody registered if it cannot be one.
func (e *Engine) admission(row *recoup.Error, now time.Time) store.Report {
	message, _ := e.Redactor.String(row.Message)
	def, _, err := e.Codes().Fold(string(row.Code))
	if err != nil {
		def, _, _ = e.Codes().Fold(string(fault.CodeUnregisteredCode))
	}
	r := e.decided(lifecycle.Report{
		ID: row.ID, Table: row.Table, EntityID: row.EntityID, Message: message, CreatedAt: row.CreatedAt, Stands: true,
		Failure:  lifecycle.Failure{Code: row.Code, Class: def.Effective(false), Category: def.Category},
		Severity: severity(row.Severity, def), CorrelationID: row.CorrelationID,
	}, now)
	r.Admits = row.ID
	return r
}
