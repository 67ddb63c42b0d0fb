package sqlops

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// What is known of a code. What a person has changed by plain SQL counts, where it
// differs from the definition.
type definition = fault.Definition

var codeColumns = []sqldb.Column[definition]{
	sqldb.Read("definition", func(d *definition) any { return d }),
	sqldb.Text("code", func(d *definition) *string { return (*string)(&d.Code) }),
	sqldb.Text("domain", func(d *definition) *string { return &d.Domain }),
	sqldb.Text("description", func(d *definition) *string { return &d.Description }),
	sqldb.Count("http_status", func(d *definition) *int { return &d.HTTPStatus }),
	sqldb.Text("class", func(d *definition) *string { return (*string)(&d.Class) }),
	sqldb.Text("category", func(d *definition) *string { return (*string)(&d.Category) }),
	sqldb.Text("severity", func(d *definition) *string { return (*string)(&d.Severity) }),
	sqldb.Text("alert_group", func(d *definition) *string { return &d.Group }),
}

// Codes returns everything that is registered, sorted by code.
func (v Ops) Codes(ctx context.Context) ([]fault.Definition, error) {
	names := sqldb.Table[definition]{Columns: codeColumns}.Names("")
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read codes", "select "+names+` from recoup.error_code order by code collate "C"`), codeColumns...)
}

const (
	updateCode = `update recoup.error_code set domain = $1, description = $2, retryable = $3, http_status = $4, class = $5, category = $6,
			severity = $7, alert_group = $8, definition = $9, updated_at = $10
		where code = $11 and (domain, description, retryable, http_status, class, category, severity, alert_group, definition)
			is distinct from ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	insertCode = `insert into recoup.error_code (domain, description, retryable, http_status, class, category, severity, alert_group,
			definition, updated_at, created_at, code)
		select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11 where not exists (select 1 from recoup.error_code where code = $11)
		on conflict do nothing`
)

// SyncCodes registers codes and renews what is known of them. Codes that are as
// they should be are not written, and all are taken in one order, so that nodes
// that start together do not wait for each other crosswise.
func (v Ops) SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error {
	codes = slices.SortedFunc(slices.Values(codes), func(a, b *fault.Definition) int { return cmp.Compare(a.Code, b.Code) })
	each := make([][]any, len(codes))
	for i, d := range codes {
		text, err := json.Marshal(d)
		if err != nil {
			return err
		}
		each[i] = []any{d.Domain, d.Description, d.Retryable(false), null(d.HTTPStatus), string(d.Class), string(d.Category),
			string(d.Severity), null(d.Group), string(text), now, string(d.Code)}
	}
	return v.db.Act(ctx, "sync codes", time.Time{}, func(tx Tx) error {
		if _, err := tx.Change(updateCode, each...); err != nil {
			return err
		}
		_, err := tx.Change(insertCode, each...)
		return err
	})
}
