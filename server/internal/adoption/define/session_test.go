package define_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestPoolerIsRefused connects through PgBouncer, in each of its modes, and with one that accepts all
// settings of a session: nothing is planned or changed through it.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	url, _ := pgtest.Migrated(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	pgsession.Start(config)
	settings := slices.Collect(maps.Keys(config.RuntimeParams))
	settings = append(settings, "statement_timeout", "idle_in_transaction_session_timeout")
	for name, through := range map[string]func(string) string{
		"session": pgtest.Pool(t, "session"), "transaction": pgtest.Pool(t, "transaction"),
		"lenient": pgtest.Pool(t, "transaction", "ignore_startup_parameters = "+strings.Join(settings, ",")),
	} {
		conn, err := define.Connect(t.Context(), through(url))
		if err == nil || !strings.Contains(err.Error(), "set --database-direct") {
			t.Errorf("%s: %v %v", name, conn, err)
		}
	}
	conn, err := define.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
