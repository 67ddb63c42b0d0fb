package adoption

import (
	"context"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// orphaned lists the adopted tables whose table of the policy the next one lacks.
func (s *Service) orphaned(ctx context.Context, next *policy.Policy) (list []engine.AdoptedTable, err error) {
	adopted, err := s.Store.Adoptions(ctx)
	for i := range adopted {
		a := &adopted[i]
		if _, stays := next.Table(a.Table); !stays && a.Tabled && a.State != wire.AdoptionReleasing {
			list = append(list, engine.AdoptedTable{Table: a.Table, Source: a.Source})
		}
	}
	return list, err
}

// PlanPolicy adds to the plan of a policy which adopted tables it has no table for.
func (s *Service) PlanPolicy(ctx context.Context, next *policy.Policy, plan *engine.Plan) (err error) {
	plan.Adopted, err = s.orphaned(ctx, next)
	return err
}

// ApplyPolicy refuses a policy under which rows of an adopted table would be kept among the
// orphans, where they block nobody.
func (s *Service) ApplyPolicy(ctx context.Context, next *policy.Policy) error {
	list, err := s.orphaned(ctx, next)
	if err != nil || len(list) == 0 {
		return err
	}
	first := list[0]
	return fault.New(fault.CodeBusinessRuleViolation,
		"The policy has no table %s, under which %s is adopted: keep it until the adoption is moved to another table of the policy (recoup adopt %s --as TABLE --apply) or released (recoup adopt release %s).",
		first.Table, first.Source, first.Source, first.Source).With("adopted", list)
}
