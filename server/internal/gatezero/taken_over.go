package gatezero

import (
	"context"

	"github.com/recoup-dev/recoup/internal/redact"
)

// unreadBatch is how many rows taken over are redacted in one transaction.
const unreadBatch = 500

// TakenOver says what became of the text of rows that were taken over.
type TakenOver struct {
	Read     int // rows that were looked at
	Redacted int // of which held a secret
}

// RedactTakenOver redacts the text of intakes and recoveries that were there before
// Recoup, batch by batch. What it did stays done when it fails or is stopped; once all of
// it is done there is nothing left for a second time.
func RedactTakenOver(ctx context.Context, s Redactor) (done TakenOver, err error) {
	for _, kind := range []TakenOverKind{TakenOverIntake, TakenOverRecovery} {
		for {
			rows, err := s.UnreadRows(ctx, kind, unreadBatch)
			if err != nil {
				return done, err
			}
			if len(rows) == 0 {
				break
			}
			for i := range rows {
				rows[i].Texts = redactedColumns(rows[i].Texts)
			}
			changed, err := s.RedactRows(ctx, kind, rows)
			if err != nil {
				return done, err
			}
			done.Read += len(rows)
			done.Redacted += changed
		}
	}
	return done, nil
}

// redactedColumns returns the columns that hold a secret, without it. The name of a
// column counts: what is in one called password is one.
func redactedColumns(texts map[string]any) map[string]any {
	changed := map[string]any{}
	for name, text := range texts {
		clean, found := redact.Default().Value(map[string]any{name: text})
		columns, _ := clean.(map[string]any)
		if value, kept := columns[name]; kept && len(found) > 0 {
			changed[name] = value
		}
	}
	return changed
}
