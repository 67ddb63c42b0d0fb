package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

var selectPolicy = "select " + names(policyColumns, "") + " from recoup.policy_version"

// AddPolicy appends a policy unless its text is that of the current one. One
// node at a time, so that each is numbered after the other.
func (s *Store) AddPolicy(ctx context.Context, v store.PolicyVersion, act store.Act) (stored store.PolicyVersion, added bool, err error) {
	v = v.Made(act)
	err = s.transact(ctx, "add a policy", time.Time{}, func(t *tx) error {
		t.queue("select pg_advisory_xact_lock($1, $2)", serviceLock, lockPolicy)
		var current []store.PolicyVersion
		var known bool
		collect(t.queue(selectPolicy+" order by number desc limit 1"), decode(policyColumns), &current)
		t.queue("select exists (select from recoup.policy_version where version = $1)", v.Version).
			QueryRow(func(row pgx.Row) error { return row.Scan(&known) })
		if err := t.send(ctx); err != nil {
			return err
		}
		last, _ := one(current, nil, "policy")
		if stored, added, err = v.Next(last, known); !added {
			return err
		}
		insert(t, "recoup.policy_version", policyColumns, []store.PolicyVersion{stored})
		audit(t, act.On(store.ActPolicyAdd, stored.Version, map[string]any{"number": stored.Number}))
		return nil
	})
	if err != nil {
		return store.PolicyVersion{}, false, err
	}
	return stored, added, nil
}

// CurrentPolicy returns the policy that was added last.
func (s *Store) CurrentPolicy(ctx context.Context) (store.PolicyVersion, error) {
	rows, err := s.pool.Query(ctx, selectPolicy+" order by number desc limit 1")
	list, err := collectRows("read the policy", rows, err, decode(policyColumns))
	return one(list, err, "policy")
}

// PolicyVersion returns the policy of that version.
func (s *Store) PolicyVersion(ctx context.Context, version string) (store.PolicyVersion, error) {
	rows, err := s.pool.Query(ctx, selectPolicy+" where version = $1", version)
	list, err := collectRows("read a policy", rows, err, decode(policyColumns))
	return one(list, err, "policy "+version)
}

// PolicyVersions lists policies without their texts, newest first.
func (s *Store) PolicyVersions(ctx context.Context, before int64, limit int) ([]store.PolicyVersion, int64, error) {
	page := store.Page{Limit: limit}
	columns := policyColumns[:len(policyColumns)-1]
	rows, err := s.pool.Query(ctx, "select "+names(columns, "")+` from recoup.policy_version
		where $1 = 0 or number < $1 order by number desc limit $2`, before, page.Size())
	list, err := collectRows("list policies", rows, err, decode(columns))
	if err != nil || len(list) < page.Size() {
		return list, 0, err
	}
	return list, list[len(list)-1].Number, nil
}
