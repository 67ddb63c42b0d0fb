package endtoend

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// Behind PgBouncer in transaction mode a node says what it lacks, works once it has
// it, and works without a direct address once the schema is there.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.New(t)
	s := newSite(t, database{Nodes: pgtest.Pool(t, "transaction")(direct)})
	if said := s.refuses(); !strings.Contains(said, "--database-direct (RECOUP_DATABASE_DIRECT)") {
		t.Errorf("before it was migrated the node said %s", said)
	}
	s.env = []string{"RECOUP_DATABASE_DIRECT=" + direct}
	for _, entity := range []string{"listening", "polling"} {
		s.start()
		c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: entity, Code: "NETWORK_TIMEOUT", Message: "no answer"}); err != nil {
			t.Error(err)
		}
		claimed, err := c.Retries.Claim(t.Context(), recoup.RetryClaim{Worker: "w", WaitSeconds: 30})
		if err != nil || len(claimed) != 1 || claimed[0].EntityID != entity {
			t.Errorf("%s, claimed %+v: %v", entity, claimed, err)
		}
		c.Close()
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if polls := strings.Contains(s.log.String(), "database behind a pooler: polling"); polls != (entity == "polling") {
			t.Errorf("%s, the log says %s", entity, s.log)
		}
		s.env = nil
	}
}

// Three nodes with 200 connections of their own share 20 of the server's behind PgBouncer
// in transaction mode, and serve many callers at once: with a direct address for LISTEN, and
// polling without.
func TestManyConnectionsThroughAPooler(t *testing.T) {
	t.Parallel()
	const nodes, clients, sessions = 3, 200, 20
	for _, name := range []string{"listening", "polling"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner, direct := pgtest.Migrated(t)
			pgtest.HoldToClock(t, owner)
			through := pgtest.Pool(t, "transaction", fmt.Sprintf("default_pool_size = %d", sessions), "admin_users = recoup_owner")
			at := through(direct) + fmt.Sprintf("&pool_max_conns=%d&pool_min_conns=%d", clients/nodes+4, clients/nodes+1)
			var flags []string
			if name == "listening" {
				flags = []string{"--database-direct", direct}
			}
			r := newReporters(t, database{Kind: "postgres", Owner: owner, Nodes: at}, nodes, flags...)
			r.run(30)
			r.await(300)
			shared, backends := r.pools(through(owner), owner)
			r.finish()
			r.verify(owner)
			if shared < clients || backends > sessions+nodes {
				t.Errorf("the pooler has %d clients, the server %d sessions of nodes; want at least %d, and at most %d beside those that listen", shared, backends, clients, sessions)
			}
			t.Logf("%d connections of nodes on %d sessions of the server", shared, backends)
		})
	}
}

// pools counts the connections of nodes to the pooler, and their sessions at the server.
func (r *reporters) pools(pooler, owner string) (clients, backends int) {
	r.Helper()
	u, err := url.Parse(pooler)
	if err != nil {
		r.Fatal(err)
	}
	u.Path = "/pgbouncer"
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		r.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	admin, err := pgx.ConnectConfig(r.Context(), config)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = admin.Close(context.WithoutCancel(r.Context())) }()
	rows, err := admin.Query(r.Context(), "show clients")
	if err != nil {
		r.Fatal(err)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			r.Fatal(err)
		}
		if fmt.Sprint(values[1]) == "recoup_app" {
			clients++
		}
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	conn, err := pgx.Connect(r.Context(), owner)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(r.Context())) }()
	err = conn.QueryRow(r.Context(), "select count(*) from pg_stat_activity where usename = 'recoup_app' and datname = current_database()").Scan(&backends)
	if err != nil {
		r.Fatal(err)
	}
	return clients, backends
}
