package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// registrar holds the codes and the policy that the node goes by, and changes
// them: first in the database, then here, so that every node follows.
type registrar struct {
	*tenantKeys
	*payloadKeys
	*tableNames
	store    Store
	slices   []slice.Slice
	opened   func() []openSlice
	policies *engine.Policies
	ledger   *ledger.Ledger
	engine   *engine.Engine
	now      func() time.Time

	codes   atomic.Pointer[fault.Registry]
	changes sync.Mutex
}

// begin reads what the node goes by from the database, and puts there what a
// first start brings along.
func (n *Node) begin(ctx context.Context, names *tableNames) (*fault.Registry, *engine.Policies, error) {
	now := n.o.Now()
	if err := n.store.SyncCodes(ctx, now, fault.Default().All()); err != nil {
		return nil, nil, err
	}
	registry, err := storedCodes(ctx, n.store)
	if err != nil {
		return nil, nil, err
	}
	current, err := n.policyText(ctx, registry)
	if err != nil {
		return nil, nil, err
	}
	p, err := storedPolicy(current)
	if err != nil {
		return nil, nil, err
	}
	policies := engine.NewPolicies(p)
	if err := keepVersions(ctx, n.store, policies); err != nil {
		return nil, nil, err
	}
	if registry, err = codesOf(ctx, n.store, p); err != nil {
		return nil, nil, err
	}
	return registry, policies, syncPolicy(ctx, n.store, names, now, p)
}

// storedPolicy loads a version that the database has. It was checked when it was put in
// force; codes that were registered since must not keep anybody from starting.
func storedPolicy(v wire.PolicyVersion) (*policy.Policy, error) {
	p, err := policy.Load(v.Version, []byte(v.Text), nil)
	if err != nil {
		return nil, fmt.Errorf("the policy version %s in the database: %w", v.Version, err)
	}
	return p, nil
}

// codesOf is the registry under a policy: its own codes, and those of the database that
// do not clash with them.
func codesOf(ctx context.Context, s Store, p *policy.Policy) (*fault.Registry, error) {
	stored, err := s.Codes(ctx)
	if err != nil {
		return nil, err
	}
	return p.WithRequests(withStored(p.Registry(), stored)), nil
}

// withStored adds codes of the database to a registry. Plain SQL may have written what is
// no definition, and another node what clashes: that stays unregistered, and keeps nobody
// from starting.
func withStored(registry *fault.Registry, stored []fault.Definition) *fault.Registry {
	var own []fault.Definition
	for _, def := range stored {
		if _, known := registry.Lookup(def.Code); !known {
			own = append(own, policy.Completed(def))
		}
	}
	if all, err := registry.With(own...); err == nil {
		return all
	}
	for _, def := range own {
		if next, err := registry.With(def); err == nil {
			registry = next
		}
	}
	return registry
}

// syncPolicy puts what a policy names into the database: its codes and its tables.
func syncPolicy(ctx context.Context, s Store, names *tableNames, now time.Time, p *policy.Policy) error {
	own := make([]*fault.Definition, len(p.Codes))
	for i := range p.Codes {
		own[i] = &p.Codes[i]
	}
	if err := s.SyncCodes(ctx, now, own); err != nil {
		return err
	}
	return names.sync(ctx, p)
}

// storedCodes is the registry with the codes that were registered at runtime.
func storedCodes(ctx context.Context, s Store) (*fault.Registry, error) {
	stored, err := s.Codes(ctx)
	if err != nil {
		return nil, err
	}
	return withStored(fault.Default(), stored), nil
}

// policyText returns the policy to begin with: the file that was named, else
// what the database has, else the default.
func (n *Node) policyText(ctx context.Context, registry *fault.Registry) (wire.PolicyVersion, error) {
	act := store.Act{By: recoup.System, At: n.o.Now(), Reason: "first start"}
	if n.o.Demo {
		act.By = demoActor
	}
	text := n.o.First
	if text == nil {
		text = policy.DefaultFile()
	}
	if n.o.Policy == "" {
		current, err := n.store.CurrentPolicy(ctx)
		if !errors.Is(err, sqldb.ErrNotFound) {
			return current, err
		}
	} else {
		var err error
		if text, err = os.ReadFile(n.o.Policy); err != nil {
			return wire.PolicyVersion{}, fmt.Errorf("reading the policy: %w", err)
		}
		act.Reason = "the policy file of a node"
	}
	if secrets := secretsInPolicy(string(text)); secrets != nil {
		return wire.PolicyVersion{}, fmt.Errorf("%s: %s", n.o.Policy, secrets[0].Message)
	}
	p, err := policy.Load(n.o.Policy, text, nil)
	if err != nil {
		return wire.PolicyVersion{}, err
	}
	if current, ok, err := n.known(ctx, p); ok || err != nil {
		return current, err
	}
	if p, err = policy.Load(n.o.Policy, text, registry); err != nil {
		return wire.PolicyVersion{}, err
	}
	if n.o.Policy != "" {
		if err := effective(p, n.o.Now()); err != nil {
			return wire.PolicyVersion{}, err
		}
	}
	if err := n.checkSuccession(ctx, p); err != nil {
		return wire.PolicyVersion{}, err
	}
	current, added, err := n.store.AddPolicy(ctx, wire.PolicyVersion{Version: p.Version, Text: p.Text()}, act)
	switch {
	case errors.Is(err, store.ErrConflict):
		return current, fmt.Errorf("the policy file has the version %q, which a policy with another text had before: give it a new version", p.Version)
	case added && n.o.Policy != "":
		n.logPolicyFile(&current)
	}
	return current, err
}

// known reports whether a policy file was put in force before, and returns what is now: if
// a newer version was applied to a running node since, that one stays.
func (n *Node) known(ctx context.Context, p *policy.Policy) (newer wire.PolicyVersion, ok bool, err error) {
	known, err := n.store.PolicyVersion(ctx, p.Version)
	if errors.Is(err, sqldb.ErrNotFound) {
		return newer, false, nil
	}
	if err != nil || known.Text != p.Text() {
		return newer, false, err
	}
	newer, err = n.store.CurrentPolicy(ctx)
	if err != nil || newer.Version == known.Version {
		return newer, err == nil, err
	}
	n.o.Logger.Warn("the policy file is an earlier version than the one in force, which stays; to put it in force again, give it a new version",
		"file", n.o.Policy, "version", known.Version, "in_force", newer.Version, "since", newer.At, "by", newer.By)
	return newer, true, nil
}

// checkSuccession holds a policy file to what holds for a policy that is applied
// to a running node.
func (n *Node) checkSuccession(ctx context.Context, next *policy.Policy) error {
	before, err := n.store.CurrentPolicy(ctx)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	current, err := storedPolicy(before)
	if err != nil {
		return err
	}
	return endable(ctx, n.store, n.o.Slices, current, next)
}

// keepVersions loads the versions that admitted errors which may still be open.
func keepVersions(ctx context.Context, s Store, policies *engine.Policies) error {
	var before int64
	for {
		versions, next, err := s.PolicyVersions(ctx, before, 100)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if policies.Has(v.Version) {
				continue
			}
			if err := keepVersion(ctx, s, policies, v.Version); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		before = next
	}
}

// keepVersion loads one version; lists leave out the texts.
func keepVersion(ctx context.Context, s Store, policies *engine.Policies, version string) error {
	v, err := s.PolicyVersion(ctx, version)
	if err != nil {
		return err
	}
	p, err := storedPolicy(v)
	if err != nil {
		return err
	}
	policies.Keep(p)
	return nil
}

// Codes returns the registry.
func (r *registrar) Codes() *fault.Registry { return r.codes.Load() }

// Refresh follows what other nodes have put into the database. Keys that cannot be
// opened keep it from following neither codes nor the policy.
func (r *registrar) Refresh(ctx context.Context) error {
	r.changes.Lock()
	defer r.changes.Unlock()
	return errors.Join(r.followRules(ctx), r.tenantKeys.follow(ctx), r.payloadKeys.ring.Follow(ctx), r.tableNames.follow(ctx, r.policies.Current()))
}

// errChanging is why a request cannot follow a policy: this node is changing it.
var errChanging = errors.New("the policy is being changed")

// renew follows the policy if another one is in force in the database. It does not wait for
// a change on this node, which may be what calls it.
func (r *registrar) renew(ctx context.Context) error {
	current, err := r.store.CurrentPolicy(ctx)
	if err != nil || current.Version == r.policies.Current().Version {
		return err
	}
	if !r.changes.TryLock() {
		return errChanging
	}
	defer r.changes.Unlock()
	return r.followRules(ctx)
}

// followRules follows codes and policy.
func (r *registrar) followRules(ctx context.Context) error {
	current, err := r.store.CurrentPolicy(ctx)
	if err != nil {
		return err
	}
	if inForce := r.policies.Current(); current.Version == inForce.Version {
		registry, err := codesOf(ctx, r.store, inForce)
		if err != nil {
			return err
		}
		r.codes.Store(registry)
		return r.ledger.Follow(registry, ledgerRules(inForce))
	}
	p, err := storedPolicy(current)
	if err != nil {
		return fmt.Errorf("the old policy stays: %w", err)
	}
	if err := keepVersions(ctx, r.store, r.policies); err != nil {
		return err
	}
	return r.use(ctx, p)
}
