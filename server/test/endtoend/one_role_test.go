package endtoend

import (
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/wire"
	"github.com/recoup-dev/recoup/server/test/program"
)

// oneRole is an installation whose one role owns the database and may not create roles.
type oneRole struct {
	*site
	server *pgtest.Server
	sql    *pgx.Conn // of the one role
	admin  *pgx.Conn // of the server's administrator, in the same database
}

func newOneRole(t *testing.T) *oneRole {
	t.Helper()
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "archive_mode=on", "archive_command=/bin/true"}})
	address := server.OneRole(t)
	o := &oneRole{site: newSite(t, database{Nodes: address}), server: server}
	connect := func(url string) *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	o.sql, o.admin = connect(address), connect(strings.Replace(address, pgtest.Single+"@", "postgres@", 1))
	o.exec(o.admin, "revoke create on schema public from public; grant create on schema public to single") // PUBLIC has it on PostgreSQL 13 and 14
	return o
}

func (o *oneRole) exec(conn *pgx.Conn, sql string) {
	o.Helper()
	if _, err := conn.Exec(o.Context(), sql); err != nil {
		o.Fatalf("%s: %v", sql, err)
	}
}

// run runs a command as the one role, expects its status, and returns what it printed.
func (o *oneRole) run(status int, args ...string) string {
	o.Helper()
	cmd := exec.CommandContext(o.Context(), program.Path(o.T), append(args, "--database", strings.Replace(o.database, "recoup_app@", pgtest.Single+"@", 1))...)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status {
		o.Fatalf("%v: status %d, want %d\n%s", args, got, status, out)
	}
	return string(out)
}

// holds returns once a condition holds in the database.
func (o *oneRole) holds(condition string) {
	o.Helper()
	o.eventually(condition, func() (yes bool) {
		if err := o.sql.QueryRow(o.Context(), "select "+condition).Scan(&yes); err != nil {
			o.Fatalf("%s: %v", condition, err)
		}
		return yes
	})
}

// contains expects texts, however their lines are wrapped.
func (o *oneRole) contains(text string, wanted ...string) {
	o.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			o.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// statements matches the SQL that an administrator is asked to run.
var statements = regexp.MustCompile(`(?m)(GRANT|CREATE ROLE) [^;:]+;`)

// administrate runs the SQL that a command prints for an administrator.
func (o *oneRole) administrate(said string) {
	o.Helper()
	list := statements.FindAllString(said, -1)
	if len(list) == 0 {
		o.Fatalf("no statements in\n%s", said)
	}
	for _, sql := range list {
		o.exec(o.admin, sql)
	}
}

// judged returns the findings of the doctor about roles, privileges and adoptions.
func (o *oneRole) judged(status int) (list []wire.Finding) {
	o.Helper()
	var found wire.Diagnosis
	if err := json.Unmarshal([]byte(o.run(status, "doctor", "--json")), &found); err != nil {
		o.Fatal(err)
	}
	for _, f := range found.Findings {
		if f.Check != "policy" && f.Check != "encryption" { // of the example, and of a node without a master key
			list = append(list, f)
		}
	}
	return list
}

// healthy expects one finding of the doctor: that the installation has one role.
func (o *oneRole) healthy() {
	o.Helper()
	if found := o.judged(0); len(found) != 1 || found[0].Subject != "one role" || found[0].Severity != wire.FindingNote {
		o.Errorf("found %+v", found)
	}
}

// works reports, parks, promotes, and replays a dead letter until its work is done.
func (o *oneRole) works() {
	o.Helper()
	c, ctx := o.client(func(error) {}), o.Context()
	must := func(err error) {
		o.Helper()
		if err != nil {
			o.Fatal(err)
		}
	}
	reported, err := c.Report(ctx, recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-1", Code: "NETWORK_TIMEOUT", Message: "it failed"})
	must(err)
	must(first(c.Errors.Park(ctx, reported.Error.ID, recoup.Act{Reason: "look at it"})))
	if _, err := c.Promote(ctx, recoup.Promotion{EntityID: "CO-1", Phase: "ship"}); fault.Classify(err).Code != fault.CodePromotionBlocked {
		o.Errorf("promoted with a parked error: %v", err)
	}
	must(first(c.Errors.Resolve(ctx, reported.Error.ID, recoup.Act{Reason: "done by hand"})))
	must(first(c.Promote(ctx, recoup.Promotion{EntityID: "CO-1", Phase: "ship"})))

	d, err := c.DeadLetters.Record(ctx, recoup.StageFailure{WorkID: recoup.ID{9, 15: 1}, Pipeline: "images", Stage: "resize", Class: "VALIDATION_ERROR", Exhausted: true, LastStack: "none",
		Context: map[string]any{"attempts": map[string]any{"resize": 1}}, FirstFailureAt: reported.Error.CreatedAt, LastFailureAt: reported.Error.CreatedAt, Payload: []byte("a picture"), EntityID: "CO-2"})
	must(err)
	must(first(c.DeadLetters.Triage(ctx, d.ErrorID, recoup.Triage{Cause: recoup.CauseData, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted})))
	must(first(c.DeadLetters.Remediate(ctx, d.ErrorID, recoup.Remediation{Link: "INC-1", Corrected: "the picture"})))
	must(first(c.DeadLetters.Validate(ctx, d.ErrorID, recoup.Validation{Idempotent: true})))
	must(first(c.DeadLetters.Replay(ctx, d.ErrorID, recoup.SingleReplay{Reason: "fixed"})))
	work, err := c.Work.Claim(ctx, recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: d.Pipeline, Stage: d.Stage}}, Worker: "w", WaitSeconds: 30})
	if err != nil || len(work) != 1 {
		o.Fatalf("claimed %+v, %v", work, err)
	}
	must(first(c.Work.Result(ctx, recoup.WorkResult{WorkID: work[0].WorkID, LeaseToken: work[0].LeaseToken, Outcome: "succeed"})))
	if got, err := c.DeadLetters.Get(ctx, d.ErrorID); err != nil || got.Step != recoup.StepReplayed {
		o.Errorf("the dead letter is %+v, %v", got, err)
	}
}

// governs writes a row to an adopted table, and waits until it is governed and shows what was decided.
func (o *oneRole) governs(table, order string) {
	o.Helper()
	o.exec(o.admin, "insert into "+table+" (order_id, code) values ('"+order+"', 'VALIDATION_ERROR')")
	o.holds("exists (select from recoup.error where entity_id = '" + order + "' and state = 'PARKED')")
	o.eventually(order+" shows it", func() (yes bool) {
		if err := o.admin.QueryRow(o.Context(), "select disposition = 'PARKED' from "+table+" where order_id = $1", order).Scan(&yes); err != nil {
			o.Fatal(err)
		}
		return yes
	})
}

const ordersDDL = ".orders (id bigint generated always as identity primary key, order_id text, code text, created_at timestamptz default now())"

// TestOneRole goes the whole way with one role that owns the database and may not create roles. In the
// end an administrator creates the roles, and nodes connect as recoup_app.
func TestOneRole(t *testing.T) {
	t.Parallel()
	o := newOneRole(t)
	o.contains(o.run(0, "migrate", "up"), "one role: single may not create roles", "Row security is not available", "CREATE ROLE recoup_app LOGIN; CREATE ROLE recoup_writer LOGIN; CREATE ROLE recoup_reader LOGIN;")
	if said := o.run(0, "migrate", "up"); strings.TrimSpace(said) != "the schema is up to date, with one role: recoup doctor lists what is weaker" {
		t.Errorf("the second time migrate up says\n%s", said)
	}
	o.start()
	o.works()
	o.healthy()

	t.Log("a table of the same role is adopted without a role of its own")
	o.exec(o.sql, "create schema own; create table own"+ordersDDL)
	adopt := []string{"adopt", "own.orders", "--as", "people.people_errors", "--entity", "order_id", "--code", "code"}
	o.contains(o.run(0, adopt...), "single may not create roles", "nodes reach it with the login of single and not with a role that can do nothing else", "own.orders")
	o.run(0, append(adopt, "--apply", "--yes")...)
	o.governs("own.orders", "own-1")
	o.healthy()
	o.run(0, "adopt", "release", "own.orders", "--yes")
	o.holds("not exists (select from recoup.adoption)")

	t.Log("a table of another role needs a login role, which an administrator creates")
	o.exec(o.admin, "create role shop; create schema shop authorization shop; create table shop"+ordersDDL+"; alter table shop.orders owner to shop")
	foreign := []string{"adopt", "shop.orders", "--as", "people.people_errors", "--entity", "order_id", "--code", "code"}
	said := o.run(1, foreign...)
	o.contains(said, "single may not act as shop", "GRANT shop TO single", "LOGIN NOINHERIT CONNECTION LIMIT 5;", "TO single;")
	o.exec(o.admin, "grant shop to single")
	said = o.run(1, append(foreign, "--apply", "--yes")...)
	o.contains(said, "single cannot create roles: each adoption needs a login role of its own")
	o.administrate(said)
	o.run(0, append(foreign, "--apply", "--yes")...)
	o.governs("shop.orders", "shop-1")
	o.holds("(select role is not null from recoup.adoption_login)")
	o.healthy()
	o.contains(o.run(0, "adopt", "release", "shop.orders", "--yes"), "as an administrator")
	o.holds("not exists (select from recoup.adoption)")

	t.Log("an administrator creates the roles")
	o.run(0, append(adopt, "--apply", "--yes")...)
	o.governs("own.orders", "own-2")
	o.exec(o.admin, "create role recoup_app login; create role recoup_writer login; create role recoup_reader login")
	if said := o.run(0, "migrate", "up"); strings.TrimSpace(said) != "the schema is up to date" {
		t.Errorf("with all roles migrate up says\n%s", said)
	}
	if err := o.signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	o.database = strings.Replace(o.database, pgtest.Single+"@", "recoup_app@", 1)
	o.start()
	if found := o.judged(1); len(found) != 1 || !strings.Contains(found[0].Evidence, "It has no login role of its own") {
		t.Errorf("found %+v", found)
	}
	o.administrate(o.run(1, "doctor", "--fix", "--yes"))
	o.contains(o.run(0, "doctor", "--fix", "--yes"), "fixed: own.orders")
	o.governs("own.orders", "own-3")
	if found := o.judged(0); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}
