package sdk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// realNode is a real server on loopback, with a clock that the test turns.
type realNode struct {
	*client.Client
	*node.Clock
	live *live.Node
}

func startNode(t *testing.T) *realNode {
	t.Helper()
	return startNodeOn(t, "")
}

func startNodeOn(t *testing.T, database string) *realNode {
	t.Helper()
	n := &realNode{Clock: node.NewClock(noon)}
	n.live = live.Start(t, app.Options{Now: n.Now, Database: database})
	n.Client = n.as(n.live.Key, "hub")
	return n
}

func (n *realNode) as(secret, service string) *client.Client {
	return n.live.As(client.Options{Key: secret, Service: service, Region: "eu-1", Now: n.Now})
}

// must fails the test unless a call succeeds.
func must[T any](answer T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// The tests share a node, so each has things of its own.
const (
	table, entity = "outreach.dol_errors", "CO-20260205-000001"
	leaseTable    = "outreach.company_target_errors"
	actTable      = "people.people_errors"
)

// The client and a real server understand each other, in every operation.
func TestNode(t *testing.T) {
	t.Parallel()
	startNode(t).testAll(t)
}

// So do they where the server has its database through PgBouncer in transaction mode.
func TestNodeBehindAPooler(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	startNodeOn(t, pgtest.Pool(t, "transaction")(url)).testAll(t)
}

func (n *realNode) testAll(t *testing.T) {
	t.Run("leases", n.testLeases)
	t.Run("retries and promotes", n.testRetries)
	t.Run("acts", n.testActs)
	t.Run("ledger", n.testLedger)
	t.Run("administration", n.testAdministration)
}

// A failure's whole way, over the wire: it is reported, blocks its entity, is
// retried by a worker, and blocks no more.
func (n *realNode) testRetries(t *testing.T) {
	ctx := t.Context()
	report := recoup.Report{Table: table, EntityID: entity, Code: "network_timeout", Message: "no answer"}
	first := must(n.Report(ctx, report, client.IdempotencyKey("night-7")))(t)
	if first.Error.State != recoup.RetryPending || first.Error.Code != fault.CodeNetworkTimeout {
		t.Errorf("reported as %+v", first.Error)
	}
	if again := must(n.Report(ctx, report, client.IdempotencyKey("night-7")))(t); !again.Repeated || again.Error.ID != first.Error.ID {
		t.Errorf("reported again as %+v", again)
	}
	report.EntityID = "another"
	if _, err := n.Report(ctx, report, client.IdempotencyKey("night-7")); !errors.Is(err, fault.New(fault.CodeIdempotencyConflict, "")) {
		t.Errorf("another report under the same key: %v", err)
	}
	if gate := must(n.CheckPromotion(ctx, entity))(t); !gate.Blocked || gate.Blockers[0].ErrorID != first.Error.ID {
		t.Errorf("the gate is %+v", gate)
	}
	promotion := recoup.Promotion{EntityID: entity, Phase: "outreach"}
	var blocked *fault.Error
	if _, err := n.Promote(ctx, promotion); !errors.As(err, &blocked) || blocked.Code != fault.CodePromotionBlocked || blocked.Details["blocked"] != true {
		t.Errorf("promoted past an error: %v", err)
	}

	key := must(admin.New(n.Client).Keys.Create(ctx, wire.NewKey{Name: "night worker", Role: "worker"}))(t)
	n.Wait(time.Minute)
	handled := make(chan recoup.Error)
	stop := run(t, client.Worker{Client: n.as(key.Secret, "hub"), Name: "w1", Tables: []string{table}, Handler: func(_ context.Context, e recoup.Error) error {
		handled <- e
		return nil
	}})
	if e := <-handled; e.ID != first.Error.ID || e.LeaseToken.IsZero() {
		t.Errorf("the worker got %+v", e)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if gate := must(n.CheckPromotion(ctx, entity))(t); gate.Blocked {
		t.Errorf("the gate is %+v", gate)
	}
	if done := must(n.Promote(ctx, promotion))(t); done.EntityID != entity || done.Seq == 0 {
		t.Errorf("promoted as %+v", done)
	}
	history := must(n.Errors.History(ctx, first.Error.ID))(t)
	if last := history[len(history)-1]; last.Input == "archive" { // the node's clock was faster
		history = history[:len(history)-1]
	}
	if last := history[len(history)-1]; last.Input != "succeed" || last.Worker != "w1" {
		t.Errorf("the history ends with %+v", last)
	}
}

// What people do, one by one and in bulk, and what they look at.
func (n *realNode) testActs(t *testing.T) {
	ctx := t.Context()
	batch := must(n.ReportBatch(ctx, []recoup.Report{
		{Table: actTable, EntityID: "CO-1", Code: "NETWORK_TIMEOUT"}, {Table: actTable, EntityID: "CO-2", Code: "NETWORK_TIMEOUT"}, {Code: "!"},
	}))(t)
	if _, err := batch[2].Get(); !errors.Is(err, fault.New(fault.CodeValidationError, "")) {
		t.Errorf("a bad report is answered by %v", err)
	}
	one := must(batch[0].Get())(t).Error.ID
	for _, step := range []struct {
		do   func(context.Context, recoup.ID, recoup.Act, ...client.CallOption) (recoup.ActResult, error)
		act  recoup.Act
		want recoup.State
	}{
		{n.Errors.Park, recoup.Act{Reason: "EXTERNAL_DEPENDENCY"}, recoup.Parked},
		{n.Errors.Assign, recoup.Act{To: "ada"}, recoup.Parked},
		{n.Errors.Review, recoup.Act{}, recoup.Parked},
		{n.Errors.Escalate, recoup.Act{Reason: "third time", Tier: 2}, recoup.Escalated},
		{n.Errors.Unpark, recoup.Act{Reason: "the provider is back"}, recoup.RetryPending},
		{n.Errors.Resolve, recoup.Act{Reason: "done by hand"}, recoup.Resolved},
	} {
		if done := must(step.do(ctx, one, step.act))(t); done.Error.State != step.want {
			t.Errorf("became %s, want %s", done.Error.State, step.want)
		}
	}
	if _, err := n.Errors.Park(ctx, one, recoup.Act{Reason: "late"}); !errors.Is(err, fault.New(fault.CodeInvalidTransition, "")) {
		t.Errorf("parked what is resolved: %v", err)
	}
	all := recoup.BulkAct{Act: recoup.Act{Reason: "look at it"}, Preview: true}
	for e, err := range n.Errors.All(ctx, recoup.ErrorFilter{Table: actTable, State: recoup.RetryPending}) {
		if err != nil {
			t.Fatal(err)
		}
		all.IDs = append(all.IDs, e.ID)
	}
	preview := must(n.Errors.ActOnIDs(ctx, recoup.ActPark, all))(t)
	if done := must(n.Errors.ActOnIDs(ctx, recoup.ActPark, recoup.BulkAct{Act: all.Act, Token: preview.Token}))(t); preview.Matched != 1 || done.Applied != 1 {
		t.Errorf("previewed %+v, did %+v", preview, done)
	}
	if page := must(n.Errors.Parked(ctx, recoup.ParkedFilter{Table: actTable}, client.Page{}))(t); len(page.Errors) != 1 {
		t.Errorf("parked are %+v", page)
	}
	// What is resolved leaves for the archive as soon as the node's clock comes to it.
	if open, gone := count(n.Errors.All(ctx, recoup.ErrorFilter{Table: actTable})), count(n.Errors.AllArchived(ctx, actTable)); open+gone < 2 || gone > 1 {
		t.Errorf("there are %d errors, and %d are archived", open, gone)
	}
	two := must(batch[1].Get())(t).Error.ID
	if x := must(n.Errors.Explain(ctx, two))(t); !slices.Contains(x.Exits, "unpark") || len(x.Decided) == 0 {
		t.Errorf("explained as %+v", x)
	}
	if counts := must(n.Errors.Counts(ctx))(t); !slices.Contains(counts, recoup.StateCount{Table: actTable, State: recoup.Parked, N: 1}) {
		t.Errorf("counted %+v", counts)
	}
	must(n.Errors.Archive(ctx, two, recoup.Act{Reason: "nobody needs it"}))(t)
	if got := count(n.Errors.AllArchived(ctx, actTable)); got < 1 || got > 2 {
		t.Errorf("%d errors are archived", got)
	}
	if e := must(n.Errors.Get(ctx, two))(t); e.State != recoup.Archived {
		t.Errorf("it is %s", e.State)
	}
}

// A lease in a worker's own hands.
func (n *realNode) testLeases(t *testing.T) {
	ctx := t.Context()
	for _, entity := range []string{"CO-1", "CO-2"} {
		must(n.Report(ctx, recoup.Report{Table: leaseTable, EntityID: entity, Code: "NETWORK_TIMEOUT"}))(t)
	}
	n.Wait(time.Minute)
	claimed := must(n.Retries.Claim(ctx, recoup.RetryClaim{Tables: []string{leaseTable}, Worker: "w", LeaseSeconds: 60, Limit: 5}))(t)
	if len(claimed) != 2 || claimed[0].LeaseEndsAt.Sub(claimed[0].LeasedAt) != time.Minute {
		t.Fatalf("claimed %+v", claimed)
	}
	one := recoup.RetryResult{ErrorID: claimed[0].ID, LeaseToken: claimed[0].LeaseToken}
	n.Wait(30 * time.Second)
	if e := must(n.Retries.Extend(ctx, one))(t).Error; e.LeaseEndsAt.Sub(n.Now()) != time.Minute {
		t.Errorf("extended until %v, now is %v", e.LeaseEndsAt, n.Now())
	}
	fail := one
	fail.Code = "timeout"
	if e := must(n.Retries.Fail(ctx, fail))(t).Error; e.RetryCount != 1 || e.LastFailureCode != fault.CodeTimeout {
		t.Errorf("failed as %+v", e)
	}
	if _, err := n.Retries.Succeed(ctx, one); !errors.Is(err, fault.New(fault.CodeLeaseLost, "")) {
		t.Errorf("a result that came too late: %v", err)
	}
	two := recoup.RetryResult{ErrorID: claimed[1].ID, LeaseToken: claimed[1].LeaseToken, Outcome: recoup.OutcomeSucceeded}
	for range 2 { // the second is the first again
		items := must(n.Retries.Results(ctx, []recoup.RetryResult{two}))(t)
		if done := must(items[0].Get())(t); done.Error.State != recoup.Resolved && done.Error.State != recoup.Archived { // by a sweep in between
			t.Errorf("became %s", done.Error.State)
		}
	}
}

// The ledger: events and counts in, lists and statistics out.
func (n *realNode) testLedger(t *testing.T) {
	ctx := t.Context()
	c := n.as(n.live.Key, "ledger")
	m := start(t, client.EmitterOptions{Client: c, Buffer: 10})
	for range 15 { // five too many
		m.Emit(recoup.Event{Code: fault.CodeSlotConflict, CorrelationID: id(9), Tenant: "acme"})
	}
	m.Count("", true, time.Second)
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
	accepted := must(c.SendEvents(ctx, []recoup.Event{{Code: fault.CodeTimeout}, {Code: "no code!"}}))(t)
	if accepted.Accepted != 1 || accepted.NRefused != 1 || !accepted.Durable {
		t.Errorf("accepted %+v", accepted)
	}
	n.Wait(time.Minute)
	if got := count(n.Events.All(ctx, recoup.EventFilter{Service: "ledger", CorrelationID: id(9)})); got != 10 {
		t.Errorf("there are %d events", got)
	}
	page := must(n.Events.List(ctx, recoup.EventFilter{Code: "slot_conflict"}, client.Page{Limit: 1}))(t)
	if e := page.Events[0]; page.Next == "" || e.Region != "eu-1" || e.Tenant != "" || e.TenantHash == "" {
		t.Errorf("the first page is %+v", page)
	}
	if top := must(n.Events.TopCodes(ctx, 0, 1))(t); len(top.Codes) != 1 || top.Codes[0] != (recoup.CodeCount{Code: fault.CodeSlotConflict, Count: 10}) {
		t.Errorf("top codes are %+v", top)
	}
	days := recoup.DayFilter{From: noon.Add(-time.Hour), To: noon.Add(24 * time.Hour), Service: "ledger"}
	must(n.Events.RetryableRates(ctx, days))(t)
	must(n.Events.DailyCounts(ctx, days))(t)
	must(n.Events.ExportCounts(ctx, days))(t)
	must(n.Events.Drops(ctx, days))(t)
	if got := count(n.Events.Export(ctx, days)); got != 11 {
		t.Errorf("%d events were exported", got)
	}
	if got := count(admin.New(n.Client).Audit.All(ctx, wire.AuditFilter{Act: "events.export"})); got != 2 {
		t.Errorf("%d exports were audited", got)
	}
}

// Codes, policy and keys.
func (n *realNode) testAdministration(t *testing.T) {
	ctx := t.Context()
	if codes := must(n.Codes.List(ctx))(t); len(codes) != len(fault.Default().All()) {
		t.Errorf("there are %d codes", len(codes))
	}
	own := must(n.Codes.Get(ctx, "timeout"))(t)
	own.Code, own.Aliases, own.Example, own.Origin = "LUNCH_BREAK", nil, nil, "hub"
	if def := must(n.Codes.Put(ctx, own))(t); def.Code != own.Code {
		t.Errorf("registered %+v", def)
	}
	if c := must(n.Classify(ctx, fault.RawFailure{Status: 429, Headers: map[string]string{"Retry-After": "7"}}))(t); c.Code != fault.CodeRateLimitExceeded || c.RetryAfter != 7 {
		t.Errorf("classified as %+v", c)
	}

	policy := must(admin.New(n.Client).Policy.Current(ctx))(t)
	if plan := must(admin.New(n.Client).Policy.Plan(ctx, policy.Text))(t); !strings.Contains(string(plan), policy.Version) {
		t.Errorf("the plan is %s", plan)
	}
	if done := must(admin.New(n.Client).Policy.Apply(ctx, wire.PolicyChange{Text: policy.Text, Reason: "again"}))(t); done.Added || done.Version != policy.Version {
		t.Errorf("applied as %+v", done)
	}
	if _, err := admin.New(n.Client).Policy.Apply(ctx, wire.PolicyChange{Text: "nonsense", Reason: "x"}); err == nil {
		t.Error("a bad policy was accepted")
	}
	if page := must(admin.New(n.Client).Policy.Versions(ctx, client.Page{}))(t); len(page.Versions) != 1 || page.Versions[0].Version != policy.Version {
		t.Errorf("versions are %+v", page)
	}

	key := must(admin.New(n.Client).Keys.Create(ctx, wire.NewKey{Name: "dashboard", Role: "reader", Days: 7}))(t)
	reader := n.as(key.Secret, "hub")
	must(reader.Errors.Counts(ctx))(t)
	if _, err := admin.New(reader).Keys.Create(ctx, wire.NewKey{Name: "x", Role: "admin"}); !errors.Is(err, fault.New(fault.CodeInsufficientPermissions, "")) {
		t.Errorf("a reader made a key: %v", err)
	}
	next := must(admin.New(n.Client).Keys.Rotate(ctx, key.ID, wire.KeyRotation{Hours: new(1), Reason: "it is time"}))(t)
	must(n.as(next.Secret, "hub").Errors.Counts(ctx))(t)
	if gone := must(admin.New(n.Client).Keys.Revoke(ctx, next.ID, "lost"))(t); gone.RevokedAt.IsZero() {
		t.Errorf("revoked as %+v", gone)
	}
	if _, err := n.as(next.Secret, "hub").Errors.Counts(ctx); !errors.Is(err, fault.New(fault.CodeInvalidAPIKey, "")) {
		t.Errorf("a revoked key works: %v", err)
	}
	if page := must(admin.New(n.Client).Keys.List(ctx, client.Page{Limit: 2}))(t); page.Next == "" || page.Keys[0].ID != next.ID || page.Keys[1].RotatedTo != next.ID {
		t.Errorf("keys are %+v", page)
	}
	if page := must(admin.New(n.Client).Audit.List(ctx, wire.AuditFilter{Act: "key.revoke"}, client.Page{}))(t); len(page.Entries) != 1 || page.Entries[0].Reason != "lost" {
		t.Errorf("the audit says %+v", page)
	}
}
