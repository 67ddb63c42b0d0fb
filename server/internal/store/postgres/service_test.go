package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestService(t *testing.T) {
	t.Parallel()
	conformance.RunService(t, func(t *testing.T) conformance.Service {
		_, app := pgtest.Migrated(t)
		return open(t, app)
	})
}

// serviceSQL is a session of somebody else that looks at the service's tables.
type serviceSQL struct{ plainSQL }

func (s serviceSQL) Try(sql string) error {
	return s.plainSQL.Try(strings.ReplaceAll(sql, "{hash}", "decode(repeat('ab', 32), 'hex')"))
}

func (s serviceSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{"api_key", "audit", "policy_version", "platform_key", "leader", "job", "idempotency", "outbox", "session",
		"processed_minute", "processed_hour"} {
		rows, _ := s.conn.Query(s.Context(), "select t::text from recoup."+table+" t order by 1")
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(lines) == 0 {
			s.Fatalf("%s has %d rows: %v", table, len(lines), err)
		}
		fmt.Fprintf(&b, "%s:\n%s\n", table, strings.Join(lines, "\n"))
	}
	return b.String()
}

// What is forbidden is forbidden to nodes, and to the schema's owner as long as
// the guards stand.
func TestServiceActs(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"recoup_app", "owner"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			owner, app := pgtest.Migrated(t)
			as := map[string]string{"recoup_app": app, "owner": owner}[role]
			conformance.RunServiceActs(t, open(t, app), serviceSQL{connect(t, as)},
				"truncate recoup.api_key cascade", "truncate recoup.audit", "truncate recoup.policy_version", "truncate recoup.platform_key",
				"truncate recoup.leader", "truncate recoup.job", "truncate recoup.idempotency", "truncate recoup.outbox", "truncate recoup.session")
		})
	}
}
