package gatezero

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// What is claimed at Gate Zero is chosen batch by batch, so that what a kill switch or
// the freeze holds back does not block others: of every open batch as many are locked as
// may be needed, locked rows are skipped, and the first of all are taken.

// eligible are recoveries that no worker holds, of one batch or, if $3 is empty, of
// all, the longest waiting first.
var eligible = sqldb.PerDialect(func(d sqldb.Dialect) string {
	begin, end := d.FirstOfEach("recovery_id, next_eligible_at", "cl.gate_zero_recovery", "r", "recovery_id")
	return `select r.recovery_id from (
			select '' as batch_id union all
			select batch_id from cl.gate_zero_batch
			where frozen_at is null and killed_at is null and (batch_freeze_at is null or batch_freeze_at > ` + d.Due("$1") + `)) b
		` + begin + ` /*by gate_zero_recovery_claim_idx*/
			where coalesce(r.batch_id, '') = b.batch_id and status = 'ACTIVE' and next_eligible_at <= ` + d.Due("$1") + ` and ` + unheld(d) + `
			order by next_eligible_at, recovery_id limit $2` + d.ForUpdate("no key update of r skip locked") + end + `
		where $3::text = '' or b.batch_id = $3
		order by r.next_eligible_at, r.recovery_id limit $2`
})

// freezable are recoveries of some batches that no worker holds.
var freezable = sqldb.PerDialect(func(d sqldb.Dialect) string {
	begin, end := d.FirstOfEach("recovery_id", "cl.gate_zero_recovery", "r", "recovery_id")
	return `select r.recovery_id from ` + d.TextRows("$3", "b", "batch_id") + `
		` + begin + ` /*by gate_zero_recovery_claim_idx*/
			where coalesce(r.batch_id, '') = b.batch_id and status = 'ACTIVE' and ` + unheld(d) + `
			limit $2` + d.ForUpdate("no key update of r skip locked") + end + `
		limit $2`
})

func unheld(d sqldb.Dialect) string {
	return `not exists (select 1 from cl.gate_zero_lease l where l.recovery_id = r.recovery_id and l.ends_at > ` + d.Due("$1") + `)`
}

// unverified are intakes that wait for their first result and that nobody holds, the
// oldest first. Those of a frozen batch are among them: they get their first result.
var unverified = sqldb.PerDialect(func(d sqldb.Dialect) string {
	begin, end := d.FirstOfEach("intake_id", "cl.gate_zero_intake", "i", "intake_id")
	return `select i.intake_id from (
			select '' as batch_id union all select batch_id from cl.gate_zero_batch where killed_at is null) b
		` + begin + ` /*by gate_zero_intake_list_idx*/
			where coalesce(i.batch_id, '') = b.batch_id and status = 'PENDING'
			and not exists (select 1 from cl.gate_zero_turn t where t.intake_id = i.intake_id and t.ends_at > ` + d.Due("$1") + `)
			order by intake_id limit $2` + d.ForUpdate("no key update of i skip locked") + end + `
		where $3::text = '' or b.batch_id = $3
		order by i.intake_id limit $2`
})

// pick returns at most limit of what can be claimed, of a batch or of some.
func pick(tx sqldb.Tx, answer func(*sqldb.Query, sqldb.Answer) error, sql string, limit int, of any) (ids []recoup.ID, err error) {
	err = answer(sqldb.NewQuery("", sql, tx.Due(), sqldb.Clamp(limit), of), sqldb.Into(&ids, sqldb.IDColumn()))
	return ids, err
}

// Intakes lists intakes, newest first.
func (s *Store) Intakes(ctx context.Context, f recoup.IntakeFilter, p sqldb.Page) ([]recoup.Intake, sqldb.Cursor, error) {
	q := intakes.Select("list intakes", "where true")
	last := " order by intake_id desc limit " + q.Arg(p.Size())
	if !p.Cursor.IsZero() {
		last = " and intake_id < " + q.Arg(p.Cursor.ID) + last
	}
	if f != (recoup.IntakeFilter{}) {
		statuses := []recoup.IntakeStatus{f.Status}
		if f.Status == "" {
			statuses = recoup.IntakeStatuses()
		}
		batches := "(select '' as batch_id union all select batch_id from cl.gate_zero_batch)"
		if f.BatchID != "" {
			batches = "(select " + q.Arg(f.BatchID) + "::text as batch_id)"
		}
		d := s.db.Dialect()
		begin, end := d.FirstOfEach("intake_id", "cl.gate_zero_intake", "i", "intake_id")
		q.Add(" and intake_id in (select i.intake_id from " + batches + " b cross join " + d.TextRows(q.Arg(sqldb.Texts(statuses)), "s", "status") + `
			` + begin + ` /*by gate_zero_intake_list_idx*/
				where coalesce(i.batch_id, '') = b.batch_id and i.status = s.status` + last + end + " order by 1 desc limit $1)")
	}
	return intakes.Page(ctx, s.db, q.Add(last), p, func(i *recoup.Intake) sqldb.Cursor { return sqldb.Cursor{At: i.CreatedAt, ID: i.ID} })
}
