package postgres_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// What may redact rows that were taken over can do nothing else to them, and nothing at all
// once they are marked as read.
func TestTakenOverOnlyRedacts(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	owner := at(t, address)
	owner.run(legacy(10))
	owner.run(`update cl.gate_zero_intake set company_name = '100%_a sk-live \ b' where notes ->> 'i' = '4'`)
	must(t, postgres.Migrate(t.Context(), address))
	node := role(t, owner, postgres.AppRole)
	const id = "00000000-0000-4000-8000-000000000004"
	redact := func(change string) error {
		_, err := node.Exec(t.Context(), "select cl.redact_taken_over('intake', array[$1::uuid], array[$2::jsonb])", id, change)
		return err
	}
	for change, want := range map[string]string{
		`{"company_name": "another"}`:                         "replaced by nothing that is redacted",
		`{"company_name": "another [redacted:x]"}`:            "changed where nothing is redacted",
		`{"company_name": "100%%a [redacted:x] \\ b"}`:        "changed where nothing is redacted",
		`{"status": "[redacted:x]"}`:                          "no column that is redacted",
		`{"batch_id": "[redacted:x]"}`:                        "no column that is redacted",
		`{"previous_intake_id": "[redacted:x]"}`:              "no column that is redacted",
		`{"notes": {"i": 5}}`:                                 "replaced by nothing that is redacted",
		`{"company_name = 'x' where true --": "[redacted:]"}`: "no column that is redacted",
	} {
		if err := redact(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
	for _, sql := range []string{
		"update cl.gate_zero_unread set reading = true", "delete from cl.gate_zero_unread", "insert into cl.gate_zero_unread values ('intake', gen_random_uuid(), true)",
		"update cl.gate_zero_taken_over set read_at = null", "select cl.put_redacted('intake', gen_random_uuid(), 'state', '\"x\"')",
		"update cl.gate_zero_intake set company_name = '[redacted:x]'",
	} {
		refused(t, node.Conn, sql)
	}
	must(t, redact(`{"company_name": "100%_a [redacted:token] \\ b"}`))
	if got := ask[string](owner, "select company_name from cl.gate_zero_intake where intake_id = $1", id); got != `100%_a [redacted:token] \ b` {
		t.Errorf("it is %q", got)
	}
	must(t, redact(`{"company_name": "[redacted:token]"}`)) // which is left alone: it was read
	if got := ask[string](owner, "select company_name from cl.gate_zero_intake where intake_id = $1", id); got != `100%_a [redacted:token] \ b` {
		t.Errorf("it is %q", got)
	}
}
