package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/proof"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Doctor looks at a database without a node, and puts right what can be put right safely.
type Doctor struct {
	Prove bool // the policy is checked too, which takes seconds of work

	o      Options
	store  Store // nil: its schema is not the one that this binary knows, or has objects of others
	schema []doctor.FixableFinding
	kind   string
}

// OpenDoctor opens the database of the options. It changes nothing: a schema that is not
// up to date is a finding, and a file that does not exist is [ErrNoDatabase].
func OpenDoctor(ctx context.Context, o Options) (*Doctor, error) {
	o = o.withDefaults()
	kind, file, err := splitDatabase(o.Database)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); kind == "sqlite" && errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoDatabase, file)
	}
	d := &Doctor{o: o, kind: kind}
	list, err := MigrationStatus(ctx, o.Database, o.SchemaOwner)
	if d.schema, err = doctor.JudgeMigrations(list, err); err != nil || len(d.schema) > 0 {
		return d, err
	}
	d.store, err = openStore(ctx, &o, slog.New(slog.DiscardHandler))
	if foreign, ok := errors.AsType[*pgsession.ForeignError](err); ok {
		d.schema, err = judgeForeign(foreign), nil
	}
	if err == nil && d.store != nil {
		err = extend(d.store, o.Slices)
	}
	return d, err
}

// judgeForeign are the findings for objects that belong to other roles. Nothing else is judged,
// because reading the schema could run their code.
func judgeForeign(e *pgsession.ForeignError) []doctor.FixableFinding {
	facts := store.Facts{Server: &store.ServerFacts{}}
	for _, o := range e.Objects {
		facts.Server.Foreign = append(facts.Server.Foreign, store.ForeignObject(o))
	}
	return doctor.JudgeOwners(&facts)
}

// Close closes the database.
func (d *Doctor) Close() error {
	if d.store == nil {
		return nil
	}
	return d.store.Close()
}

// Examine looks at everything.
func (d *Doctor) Examine(ctx context.Context) (wire.Diagnosis, error) {
	ills, err := d.examine(ctx)
	return diagnosis(d.o.clock()(), d.kind, len(checks(d.o.Slices)), ills), err
}

func (d *Doctor) examine(ctx context.Context) ([]doctor.FixableFinding, error) {
	if d.store == nil {
		return d.schema, nil
	}
	now := d.o.clock()
	in := doctor.Input{Now: now().UTC()}
	var err error
	if in.Policy, err = currentPolicy(ctx, d.store); err != nil {
		return nil, err
	}
	if in.Jobs, err = jobStatuses(ctx, d.store, d.o.Slices, now); err != nil {
		return nil, err
	}
	if err := gather(ctx, d.store, now, &in); err != nil {
		return nil, err
	}
	if d.Prove && in.Policy != nil {
		in.Warnings = warnings(in.Policy)
	}
	return doctor.Judge(&in, checks(d.o.Slices)...), nil
}

// Fix puts right what is safe to put right, writes down what it did, and returns what it
// has fixed. Who may not is told so; what was fixed before stays fixed.
func (d *Doctor) Fix(ctx context.Context) (fixed []wire.Finding, err error) {
	ills, err := d.examine(ctx)
	if err != nil {
		return nil, err
	}
	for _, ill := range ills {
		if !ill.Safe {
			continue
		}
		if err := d.fix(ctx, ill); err != nil {
			return fixed, fmt.Errorf("%s: %w", ill.Subject, err)
		}
		fixed = append(fixed, ill.Finding)
	}
	return fixed, nil
}

// fix applies the fix of a finding. It is written down before: what cannot be written down is not done.
func (d *Doctor) fix(ctx context.Context, ill doctor.FixableFinding) (err error) {
	act := store.Act{By: CommandLine, Reason: "recoup doctor --fix", At: d.o.clock()()}
	entry := act.On(store.ActDoctorFix, ill.Subject, map[string]any{"check": ill.Check, "statements": ill.Repair.Statements})
	if err := d.store.AppendAudit(ctx, entry); err != nil {
		return err
	}
	if ill.Repair.Grants {
		if _, err := MigrateUp(ctx, d.o.Database, d.o.Direct); err != nil {
			return err
		}
	}
	if ill.Repair.Views || ill.Repair.Partitions {
		p, err := currentPolicy(ctx, d.store)
		if err != nil || p == nil {
			return err
		}
		if ill.Repair.Views {
			err = d.store.SyncTables(ctx, p, syncPolicies(d.o.Slices)...)
		} else {
			now := d.o.clock()()
			err = errors.Join(d.store.EnsurePartitions(ctx, now), d.store.EnsureEventPartitions(ctx, now, p.Ledger.EventRetention))
		}
		if err != nil {
			return err
		}
	}
	if ill.Repair.Slice != "" {
		return repair(ctx, d.store, d.o.Slices, ill.Repair, d.o.clock())
	}
	return d.store.Repair(ctx, ill.Repair.Statements)
}

// currentPolicy is the policy in force; nil: none ever was.
func currentPolicy(ctx context.Context, s Store) (*policy.Policy, error) {
	current, err := s.CurrentPolicy(ctx)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, nil //nolint:nilnil // no policy is an answer
	}
	if err != nil {
		return nil, err
	}
	return storedPolicy(current)
}

// jobStatuses reads how the jobs went without running any.
func jobStatuses(ctx context.Context, s Store, added []slice.Slice, now func() time.Time) ([]wire.Job, error) {
	var jobs []scheduler.Job
	for i := range added {
		if added[i].Jobs != nil {
			jobs = append(jobs, added[i].Jobs(s.SQL())...)
		}
	}
	none := func(context.Context, store.Term) (int, error) { return 0, nil }
	clock, err := scheduler.New(scheduler.Options{
		Store: s, Node: CommandLine, Now: now, NotifyTo: func() string { return "" },
		Jobs: scheduler.All(scheduler.Parts{Store: s, Policy: policy.Default, Alerts: none, Doctor: func(context.Context) (int, error) { return 0, nil }, Jobs: jobs}),
	})
	if err != nil {
		return nil, err
	}
	return clock.Statuses(ctx)
}

// gather adds the facts of a database, and how far the machine's clock is from its own.
func gather(ctx context.Context, s Store, wall func() time.Time, in *doctor.Input) (err error) {
	if in.Facts, err = s.Inspect(ctx, store.Inspection{Policy: in.Policy, Now: in.Now}); err != nil {
		return err
	}
	if timed, ok := s.(interface {
		Time(ctx context.Context) (time.Time, error)
	}); ok {
		before := wall()
		at, err := timed.Time(ctx)
		if err != nil {
			return err
		}
		after := wall()
		in.Skew = before.Add(after.Sub(before) / 2).Sub(at)
	}
	return nil
}

// warnings are what the policy's checker says of a policy.
func warnings(p *policy.Policy) (list []string) {
	report := proof.Check(p, p.Registry())
	for i := range report.Findings {
		if report.Findings[i].Rule != unreachableRung {
			list = append(list, report.Findings[i].Message)
		}
	}
	return list
}

// unreachableRung is the rule of the policy's checker that the default policy breaks and may:
// where a TTL ends before a rung, the TTL wins.
const unreachableRung = "unreachable-rung"

// diagnosis is what was found. Beside those of every installation it comes from that many checks.
func diagnosis(at time.Time, kind string, added int, ills []doctor.FixableFinding) wire.Diagnosis {
	d := wire.Diagnosis{At: at.UTC(), Database: kind, Checks: len(doctor.Checks()) + added + 1, Findings: []wire.Finding{}}
	for _, ill := range ills {
		d.Findings = append(d.Findings, ill.Finding)
	}
	return d
}

// Diagnose looks at the node and its database.
func (n *Node) Diagnose(ctx context.Context) (wire.Diagnosis, error) {
	in := doctor.Input{Now: n.o.Now(), Policy: n.engine.Policies.Current(), Node: n.nodeFacts()}
	var err error
	if in.Jobs, err = n.jobs.Statuses(ctx); err != nil {
		return wire.Diagnosis{}, err
	}
	if err := gather(ctx, n.store, n.clock.uncorrected, &in); err != nil {
		return wire.Diagnosis{}, err
	}
	added := n.sliceChecks(ctx)
	return diagnosis(in.Now, in.Facts.Kind, len(added), doctor.Judge(&in, added...)), nil
}

// nodeFacts returns what the doctor checks of this node.
func (n *Node) nodeFacts() *doctor.Node {
	self := &doctor.Node{
		Listen: n.o.Listen, Secure: n.secure || len(n.o.Proxies) > 0, Demo: n.o.Demo, Channels: n.notifier.Channels(),
		MasterKey: n.o.MasterKey != nil, LooseFiles: n.o.LooseFiles,
	}
	for _, x := range n.notifier.Unreached() {
		self.Unreached = append(self.Unreached, fmt.Sprintf("%s of %s", x.Action, strings.Join(x.Teams, ", ")))
	}
	named := n.engine.Policies.Current().Notifications.Named()
	for _, c := range n.o.Channels {
		byKind := c.Kind == notify.Slack || c.Kind == notify.PagerDuty || c.Kind == notify.Log // which need no route
		if !byKind && !slices.Contains(named, c.Name) {
			self.Unrouted = append(self.Unrouted, c.Name)
		}
	}
	return self
}
