package endtoend

import (
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/test/program"
)

// TestAdoptKilled kills recoup adopt and recoup adopt release at random moments, runs each
// again until it is done, and expects an adoption that works and a release that leaves
// nothing. RECOUP_SOAK=1 makes it fifty rounds for each of two tables.
func TestAdoptKilled(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	const table = `insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version)
		values ('shop.errors', 'shop', 'order_id', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '30 days', true, '1.0.0'); create schema shop;`
	for _, s := range []struct{ name, ddl, write string }{
		{"without a key", `create table shop.failures (order_id text, code text);
			insert into shop.failures select 'o' || n, 'TIMEOUT' from generate_series(1, 20000) n`, "insert into shop.failures values ('x', 'y')"},
		{"partitioned", `create table shop.failures (id int primary key, order_id text, code text) partition by hash (id);
			create table shop.a partition of shop.failures for values with (modulus 2, remainder 0); create table shop.b partition of shop.failures for values with (modulus 2, remainder 1)`,
			"insert into shop.failures select coalesce(max(id), 0) + 1, 'x', 'y' from shop.failures"},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url, _ := pgtest.Migrated(t)
			seed := seed()
			t.Logf("seed %d", seed)
			c := &adopter{T: t, url: url, random: rand.New(rand.NewPCG(seed, 0)), now: time.Now}
			c.exec(table + s.ddl)
			before := pgtest.DumpSchema(t, url)
			for range some(50, 2) {
				c.again("adopt", "shop.failures", "--as", "shop.errors", "--apply", "--yes", "--no-wait")
				c.exec(s.write)
				c.works()
				c.again("adopt", "release", "shop.failures", "--yes")
				if pgtest.DumpSchema(t, url) != before {
					t.Fatal("the definition is not what it was")
				}
			}
		})
	}
}

// adopter runs commands on a database, and kills them.
type adopter struct {
	*testing.T
	url    string
	random *rand.Rand
	now    func() time.Time
	took   time.Duration // the longest that one took
}

// again runs a command, kills it, and so on, until it is done.
func (c *adopter) again(args ...string) {
	c.Helper()
	for range 1 + c.random.IntN(3) {
		cmd := c.command(args...)
		if err := cmd.Start(); err != nil {
			c.Fatal(err)
		}
		time.AfterFunc(time.Duration(c.random.Int64N(int64(c.took+20*time.Millisecond))), func() { _ = cmd.Process.Kill() })
		if cmd.Wait() == nil {
			return // it was faster
		}
	}
	began := c.now()
	if out, err := c.command(args...).CombinedOutput(); err != nil {
		// A release that was killed after its end is complete.
		if args[1] != "release" || !c.ask("select not exists (select from recoup.adoption)") {
			c.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	c.took = max(c.took, c.now().Sub(began))
}

func (c *adopter) command(args ...string) *exec.Cmd {
	return exec.CommandContext(c.Context(), program.Path(c.T), append(args, "--database", c.url)...)
}

// works expects an adoption whose every row is found, and whose last row was noted.
func (c *adopter) works() {
	c.Helper()
	if !c.ask(`select state = 'BACKFILLING' and cardinality(steps) = (select count(distinct s) from unnest(steps) s) from recoup.adoption`) {
		c.Error("the adoption is not complete")
	}
	if !c.ask("select count(*) = 1 and max(entities) = array[hashtextextended('x', 0)] from recoup.adopted_change") {
		c.Error("what was written was not noted once")
	}
	var id string
	c.query("select adoption_id::text from recoup.adoption", &id)
	if !c.ask("select count(*) = (select count(*) from shop.failures) from recoup.adopted_" + id + "_scan(null, recoup.adopted_" + id + "_last(), 100000)") {
		c.Error("rows are missing")
	}
}

func (c *adopter) ask(sql string) (yes bool) {
	c.Helper()
	c.query(sql, &yes)
	return yes
}

func (c *adopter) query(sql string, into any) {
	c.Helper()
	c.connected(func(conn *pgx.Conn) error { return conn.QueryRow(c.Context(), sql).Scan(into) })
}

func (c *adopter) exec(sql string) {
	c.Helper()
	c.connected(func(conn *pgx.Conn) error {
		_, err := conn.Exec(c.Context(), sql)
		return err
	})
}

func (c *adopter) connected(do func(*pgx.Conn) error) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.url)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close(c.Context()) }()
	if err := do(conn); err != nil {
		c.Fatal(err)
	}
}
