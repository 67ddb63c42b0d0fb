package gatezero_test

import (
	"path/filepath"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// What is forbidden is forbidden to nodes, and to the schema's owner as long as
// the guards stand.
func TestGateActsPostgres(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"recoup_app", "owner"} {
		t.Run(role, func(t *testing.T) {
			owner, app := pgtest.Migrated(t)
			as := map[string]string{"recoup_app": app, "owner": owner}[role]
			gatezerotest.RunActs(t, pgtest.OpenURL(t, app), connectPostgres(t, as),
				"truncate cl.gate_zero_recovery cascade", "truncate cl.gate_zero_intake cascade",
				"truncate cl.gate_zero_air", "truncate cl.gate_zero_batch")
		})
	}
}

// replacing are ways in which a row could be replaced without being deleted by
// name.
func replacing() []string {
	var list []string
	for _, verb := range []string{"insert or replace", "replace", "insert or ignore", "insert"} {
		list = append(list,
			verb+` into gate_zero_recovery select recovery_id, intake_id, batch_id, 'X', 1, next_eligible_at, 'ACTIVE', created_at, updated_at
				from gate_zero_recovery where status = 'EXHAUSTED'`,
			verb+` into gate_zero_recovery select randomblob(16), intake_id, batch_id, 'X', 1, next_eligible_at, 'ACTIVE', created_at, updated_at
				from gate_zero_recovery where status = 'ACTIVE'`,
			verb+` into gate_zero_intake (intake_id, batch_id, company_name, created_at, updated_at)
				select intake_id, batch_id, 'X', created_at, updated_at from gate_zero_intake where company_name = 'active'`,
			verb+` into gate_zero_intake (intake_id, batch_id, import_key, company_name, created_at, updated_at)
				select randomblob(16), batch_id, import_key, 'X', created_at, updated_at from gate_zero_intake where company_name = 'active'`,
			verb+` into gate_zero_intake (intake_id, batch_id, company_name, status, previous_intake_id, created_at, updated_at)
				select randomblob(16), batch_id, 'X', 'AUTHORIZED', previous_intake_id, created_at, updated_at
				from gate_zero_intake where previous_intake_id is not null`,
			verb+` into gate_zero_intake (intake_id, batch_id, company_name, status, previous_intake_id, created_at, updated_at)
				select randomblob(16), batch_id, 'X', 'AUTHORIZED', intake_id, created_at, updated_at
				from gate_zero_intake where company_name = 'half'`,
			verb+` into gate_zero_recovery select r.recovery_id, i.intake_id, i.batch_id, 'X', 1, r.next_eligible_at, 'ACTIVE', r.created_at, r.updated_at
				from gate_zero_recovery r, gate_zero_intake i where r.status = 'EXHAUSTED' and i.company_name = 'bare'`,
			verb+` into gate_zero_air (air_id, intake_id, event, at) select air_id, intake_id, 'AUTH', at from gate_zero_air where event = 'EXHAUSTED'`,
			verb+` into gate_zero_batch (batch_id, created_at) select batch_id, created_at from gate_zero_batch`)
	}
	return append(list,
		`insert or replace into gate_zero_air (air_id, intake_id, event, at) select -1, intake_id, 'AUTH', at from gate_zero_air where event = 'EXHAUSTED'`,
		`update or replace gate_zero_recovery set intake_id = (select min(intake_id) from gate_zero_recovery)`,
		`update or replace gate_zero_intake set import_key = 'active'`,
		`update or replace gate_zero_batch set batch_id = 'open'`,
		`update or ignore gate_zero_recovery set status = 'ACTIVE' where status = 'EXHAUSTED'`)
}

func TestGateActsSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recoup.db")
	gatezerotest.RunActs(t, openSQLite(t, path), connectSQLite(t, path), replacing()...)
}
