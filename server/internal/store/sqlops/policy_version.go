package sqlops

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var (
	policies    = sqldb.NewRepository(store.PolicyVersions, "policy")
	policyHeads = sqldb.NewRepository(store.PolicyVersions.But("text"), "policy")
)

const lastPolicy = "order by number desc limit 1"

// AddPolicy appends a policy unless its text is that of the current one. One
// node at a time, so that each is numbered after the other.
func (v Ops) AddPolicy(ctx context.Context, p wire.PolicyVersion, by store.Act) (stored wire.PolicyVersion, added bool, err error) {
	p = by.AddPolicy(p)
	stored, err = sqldb.Act(ctx, v.db, "add a policy", func(tx Tx) (wire.PolicyVersion, error) {
		if err := tx.Acquire(lockPolicy, false); err != nil {
			return p, err
		}
		current, err := policies.Find(tx, lastPolicy)
		if err != nil {
			return p, err
		}
		known, err := policyHeads.Find(tx, "where version = $1", p.Version)
		if err != nil {
			return p, err
		}
		var next wire.PolicyVersion
		if next, added, err = store.NextPolicy(p, append(current, wire.PolicyVersion{})[0], len(known) > 0); err != nil || !added {
			return next, err
		}
		if err := policies.Add(tx, next); err != nil {
			return next, err
		}
		tx.Wake(store.WakePolicy)
		return next, audits.Add(tx, by.On(store.ActPolicyAdd, next.Version, map[string]any{"number": next.Number, "checksum": next.Checksum()}))
	})
	return stored, added && err == nil, err
}

// CurrentPolicy returns the policy that was added last.
func (v Ops) CurrentPolicy(ctx context.Context) (wire.PolicyVersion, error) {
	return policies.Get(ctx, v.db, policies.Select("read the policy", lastPolicy), "")
}

// PolicyVersion returns the policy of that version.
func (v Ops) PolicyVersion(ctx context.Context, version string) (wire.PolicyVersion, error) {
	return policies.Get(ctx, v.db, policies.Select("read a policy", "where version = $1", version), version)
}

// PolicyVersions lists policies without their texts, newest first.
func (v Ops) PolicyVersions(ctx context.Context, before int64, limit int) ([]wire.PolicyVersion, int64, error) {
	size := sqldb.Page{Limit: limit}.Size()
	q := policyHeads.Select("list policies", "where $1 = 0 or number < $1 order by number desc limit $2", before, size)
	list, err := policyHeads.List(ctx, v.db, q)
	return list, sqldb.Next(list, size, func(p *wire.PolicyVersion) int64 { return p.Number }), err
}
