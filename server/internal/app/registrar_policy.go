package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// loadPolicy reads a policy text, and reports everything that is wrong with it.
func loadPolicy(text []byte, codes *fault.Registry) (*policy.Policy, error) {
	if secrets := secretsInPolicy(string(text)); secrets != nil {
		return nil, fault.Validation(secrets...)
	}
	p, err := policy.Load("policy", text, codes)
	var bad *policy.LoadError
	if !errors.As(err, &bad) {
		return p, err
	}
	fields := make([]fault.FieldError, 0, len(bad.Problems))
	for _, problem := range bad.Problems {
		fields = append(fields, fault.FieldError{Field: "text", Constraint: "policy",
			Message: fmt.Sprintf("line %d, column %d: %s", problem.Line, problem.Column, problem.Message)})
	}
	return nil, fault.Validation(fields...)
}

// effective refuses a policy before the day from which it holds.
func effective(p *policy.Policy, now time.Time) error {
	if p.EffectiveFrom <= now.UTC().Format(time.DateOnly) {
		return nil
	}
	return fault.BadField("text", "effective", "the policy %s is effective from %s, which is in the future: apply it on that day, or write an earlier day", p.Version, p.EffectiveFrom)
}

// CheckPolicy says what is wrong with a policy, all of it.
func (r *registrar) CheckPolicy(text []byte) error {
	_, err := loadPolicy(text, r.Codes())
	return err
}

// PlanPolicy says what a policy would change of the open errors.
func (r *registrar) PlanPolicy(ctx context.Context, caller engine.Caller, text []byte) (engine.Plan, error) {
	p, err := loadPolicy(text, r.Codes())
	if err != nil {
		return engine.Plan{}, err
	}
	plan, err := r.engine.Plan(ctx, caller, p)
	if err != nil {
		return plan, err
	}
	for _, s := range r.opened() {
		if s.PlanPolicy != nil {
			if err := s.PlanPolicy(ctx, p, &plan); err != nil {
				return plan, err
			}
		}
	}
	plan.Codes, err = r.taken(ctx, p)
	return plan, err
}

// taken lists the codes that somebody registered and that a policy takes over, with the
// aliases that get lost.
func (r *registrar) taken(ctx context.Context, next *policy.Policy) ([]engine.CodeTaken, error) {
	stored, err := r.store.Codes(ctx)
	if err != nil {
		return nil, err
	}
	defined := map[recoup.Code]bool{}
	for _, def := range r.policies.Current().Codes {
		defined[def.Code] = true
	}
	var taken []engine.CodeTaken
	for _, def := range next.Codes {
		i := slices.IndexFunc(stored, func(s fault.Definition) bool { return s.Code == def.Code })
		if i < 0 || defined[def.Code] {
			continue
		}
		lost := slices.DeleteFunc(slices.Clone(stored[i].Aliases), func(a recoup.Code) bool { return slices.Contains(def.Aliases, a) })
		taken = append(taken, engine.CodeTaken{Code: def.Code, LostAliases: lost})
	}
	return taken, nil
}

// ApplyPolicy puts a policy in force, and on request applies it to the open
// errors. A bad one is refused, and the old one stays.
func (r *registrar) ApplyPolicy(ctx context.Context, caller engine.Caller, text []byte, rebase bool, reason string) (api.Applied, error) {
	r.changes.Lock()
	defer r.changes.Unlock()
	if err := check.Reason(reason); err != nil {
		return api.Applied{}, err
	}
	registry, err := storedCodes(ctx, r.store) // with what other nodes have registered
	if err != nil {
		return api.Applied{}, err
	}
	p, err := loadPolicy(text, registry)
	if err != nil {
		return api.Applied{}, err
	}
	if err := effective(p, r.now()); err != nil {
		return api.Applied{}, err
	}
	if err := endable(ctx, r.store, r.slices, r.policies.Current(), p); err != nil {
		return api.Applied{}, err
	}
	for _, s := range r.opened() {
		if s.ApplyPolicy != nil {
			if err := s.ApplyPolicy(ctx, p); err != nil {
				return api.Applied{}, err
			}
		}
	}
	taken, err := r.taken(ctx, p)
	if err != nil {
		return api.Applied{}, err
	}
	version, added, err := r.store.AddPolicy(ctx, wire.PolicyVersion{Version: p.Version, Text: p.Text()},
		caller.Act(reason, r.now()))
	if errors.Is(err, store.ErrConflict) {
		return api.Applied{}, fault.Wrap(err, fault.CodeDuplicateRecord, "Another policy has the version %s already: give the file a new version.", p.Version)
	}
	if err != nil {
		return api.Applied{}, err
	}
	if err := errors.Join(r.use(ctx, p), r.auditTaken(ctx, caller.Act(reason, r.now()), p, taken)); err != nil {
		return api.Applied{}, err
	}
	done := api.Applied{Version: version, Added: added}
	if rebase {
		result, err := r.rebase(ctx, caller, p, reason)
		done.Rebased = &result
		return done, err
	}
	return done, nil
}

// auditTaken records which codes a policy has taken over.
func (r *registrar) auditTaken(ctx context.Context, act store.Act, p *policy.Policy, taken []engine.CodeTaken) error {
	var errs []error
	for _, code := range taken {
		about := map[string]any{"policy": p.Version}
		if len(code.LostAliases) > 0 {
			about["lost_aliases"] = code.LostAliases
		}
		errs = append(errs, r.store.AppendAudit(ctx, act.On("code.take_over", string(code.Code), about)))
	}
	return errors.Join(errs...)
}

// endable refuses a policy under which what is under way could never end: a table that
// keeps its errors for ever, as they are, must not have any that wait for somebody. What
// the node has beside errors refuses it for reasons of its own.
func endable(ctx context.Context, s Store, added []slice.Slice, current, next *policy.Policy) error {
	counts, err := s.Counts(ctx)
	if err != nil {
		return err
	}
	if err := stranded(counts, current, next); err != nil {
		return err
	}
	for i := range added {
		if check := added[i].CheckPolicy; check != nil {
			if err := check(ctx, s.SQL(), next); err != nil {
				return err
			}
		}
	}
	return nil
}

// stranded refuses tables of which endable speaks.
func stranded(counts []recoup.StateCount, current, next *policy.Policy) error {
	for _, n := range counts {
		before, known := current.Table(n.Table)
		after, stays := next.Table(n.Table)
		ends := known && !before.Infinite() || !known && n.State != recoup.Active
		if stays && n.N > 0 && after.Infinite() && ends {
			return fault.New(fault.CodeBusinessRuleViolation,
				"%s would be kept for ever, as it is, but has errors that can still end: end them first, or give the table another name.", n.Table).
				With("table", n.Table).With("state", string(n.State)).With("errors", n.N)
		}
	}
	return nil
}

// rebase applies a policy to the open errors. It is an act of its own, because it
// can be done long after the policy was put in force.
func (r *registrar) rebase(ctx context.Context, caller engine.Caller, p *policy.Policy, reason string) (engine.RebaseResult, error) {
	act := caller.Act(reason, r.now())
	if err := r.store.AppendAudit(ctx, act.On("policy.rebase", p.Version, nil)); err != nil {
		return engine.RebaseResult{}, err
	}
	return r.engine.Rebase(ctx, caller, p, reason, nil)
}

// use makes a policy that the database has the node's own.
func (r *registrar) use(ctx context.Context, p *policy.Policy) error {
	if err := syncPolicy(ctx, r.store, r.tableNames, r.now(), p); err != nil {
		return err
	}
	registry, err := codesOf(ctx, r.store, p)
	if err != nil {
		return err
	}
	r.codes.Store(registry)
	r.policies.Use(p)
	return r.ledger.Follow(registry, ledgerRules(p))
}
