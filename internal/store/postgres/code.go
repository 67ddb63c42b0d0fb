package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/fault"
)

// SyncCodes registers codes and renews what is known of them. Codes that are as
// they should be are not written, and all are taken in one order, so that nodes
// that start together do not wait for each other crosswise.
func (s *Store) SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error {
	codes = slices.SortedFunc(slices.Values(codes), func(a, b *fault.Definition) int { return cmp.Compare(a.Code, b.Code) })
	return s.transact(ctx, "sync codes", time.Time{}, func(t *tx) error {
		for _, d := range codes {
			definition, err := json.Marshal(d)
			if err != nil {
				return err
			}
			t.queue(`insert into recoup.error_code as c (code, domain, description, retryable, http_status, created_at, updated_at,
					class, category, severity, alert_group, definition)
				values ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10, $11)
				on conflict (code) do update set domain = excluded.domain, description = excluded.description,
					retryable = excluded.retryable, http_status = excluded.http_status, updated_at = excluded.updated_at,
					class = excluded.class, category = excluded.category, severity = excluded.severity,
					alert_group = excluded.alert_group, definition = excluded.definition
				where (c.domain, c.description, c.retryable, c.http_status, c.class, c.category, c.severity, c.alert_group, c.definition)
					is distinct from (excluded.domain, excluded.description, excluded.retryable, excluded.http_status,
						excluded.class, excluded.category, excluded.severity, excluded.alert_group, excluded.definition)`,
				string(d.Code), d.Domain, d.Description, d.Retryable(false), optional(d.HTTPStatus), now,
				string(d.Class), string(d.Category), string(d.Severity), optional(d.Group), string(definition))
		}
		return nil
	})
}

// Codes returns everything that is registered, sorted by code. The columns count
// where a person has added or changed a code by plain SQL.
func (s *Store) Codes(ctx context.Context) ([]fault.Definition, error) {
	rows, err := s.pool.Query(ctx, `select definition || jsonb_strip_nulls(jsonb_build_object('code', code, 'domain', domain,
			'description', description, 'http_status', http_status, 'class', class, 'category', category,
			'severity', severity, 'group', alert_group))
		from recoup.error_code order by code collate "C"`)
	return collectRows("read codes", rows, err, pgx.RowTo[fault.Definition])
}
