package sqlite

import (
	"context"

	"recoup/internal/store"
)

const (
	selectPolicy        = `select ` + policyColumns + ` from policy_version`
	selectCurrentPolicy = selectPolicy + ` order by number desc limit 1`
	selectPolicies      = `select number, version, hash, added_at, added_by, reason from policy_version
		where ?1 = 0 or number < ?1 order by number desc limit 0 + ?2`
	policyKnown = `select exists (select 1 from policy_version where version = ?)`
)

// AddPolicy appends a policy unless its text is that of the current one.
func (s *Store) AddPolicy(ctx context.Context, v store.PolicyVersion, act store.Act) (stored store.PolicyVersion, added bool, err error) {
	v = v.Made(act)
	err = s.writer.do(ctx, func(tx *tx) error {
		current, err := collectAll(tx, policyFields, selectCurrentPolicy)
		if err != nil {
			return err
		}
		var known bool
		if err := tx.row(policyKnown, v.Version).Scan(&known); err != nil {
			return err
		}
		last, _ := one(current, nil, "policy")
		if stored, added, err = v.Next(last, known); !added {
			return err
		}
		if err := tx.exec(addTo("policy_version", policyColumns), policyFields(&stored)...); err != nil {
			return err
		}
		tx.wake(store.WakePolicy)
		return tx.audit(act.On(store.ActPolicyAdd, stored.Version, map[string]any{"number": stored.Number}))
	})
	if err != nil {
		return store.PolicyVersion{}, false, err
	}
	return stored, added, nil
}

// CurrentPolicy returns the policy that was added last.
func (s *Store) CurrentPolicy(ctx context.Context) (store.PolicyVersion, error) {
	list, err := query(ctx, s, policyFields, selectCurrentPolicy)
	return one(list, err, "policy")
}

// PolicyVersion returns the policy of that version.
func (s *Store) PolicyVersion(ctx context.Context, version string) (store.PolicyVersion, error) {
	list, err := query(ctx, s, policyFields, selectPolicy+` where version = ?`, version)
	return one(list, err, "policy "+version)
}

// PolicyVersions lists policies without their texts, newest first.
func (s *Store) PolicyVersions(ctx context.Context, before int64, limit int) ([]store.PolicyVersion, int64, error) {
	page := store.Page{Limit: limit}
	list, err := query(ctx, s, policyHeadFields, selectPolicies, before, page.Size())
	if err != nil || len(list) < page.Size() {
		return list, 0, err
	}
	return list, list[len(list)-1].Number, nil
}
