package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"recoup/fault"
)

// SyncCodes registers codes and renews what is known of them. A replacement would
// be refused, hence the two statements.
func (s *Store) SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error {
	return s.writer.do(ctx, func(tx *tx) error {
		for _, d := range codes {
			if err := tx.syncCode(d, now); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	insertCode = `insert into error_code (domain, description, retryable, http_status, class, category, severity, alert_group,
			definition, updated_at, code, created_at)
		select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10 where not exists (select 1 from error_code where code = ?11)`
	updateCode = `update error_code set domain = ?1, description = ?2, retryable = ?3, http_status = ?4, class = ?5, category = ?6,
			severity = ?7, alert_group = ?8, definition = ?9, updated_at = ?10
		where code = ?11 and (domain, description, retryable, http_status, class, category, severity, alert_group, definition)
			is not (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`
)

func (t *tx) syncCode(d *fault.Definition, now time.Time) error {
	definition, err := json.Marshal(d)
	if err != nil {
		return err
	}
	args := []any{
		d.Domain, d.Description, d.Retryable(false), optionalNumber{&d.HTTPStatus}, string(d.Class), string(d.Category),
		string(d.Severity), text[string]{&d.Group}, string(definition), micros(now), string(d.Code),
	}
	if err := t.exec(insertCode, args...); err != nil {
		return err
	}
	return t.exec(updateCode, args...)
}

// Codes returns everything that is registered, sorted by code. The columns count
// where a person has added or changed a code by plain SQL.
func (s *Store) Codes(ctx context.Context) ([]fault.Definition, error) {
	return query(ctx, s, func(d *fault.Definition) []any { return []any{definition{d}} },
		`select json_patch(definition, json_object('code', code, 'domain', domain, 'description', description,
			'http_status', http_status, 'class', class, 'category', category, 'severity', severity, 'group', alert_group))
		from error_code order by code`)
}

// definition is a registered code, kept as JSON.
type definition struct{ to *fault.Definition }

// Scan implements sql.Scanner.
func (f definition) Scan(src any) error {
	v, ok := src.(string)
	if !ok {
		return unreadableAs(src, "a definition")
	}
	return json.Unmarshal([]byte(v), f.to)
}
