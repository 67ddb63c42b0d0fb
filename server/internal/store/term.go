package store

import "context"

// termKey is where a context carries the term under which its caller acts.
type termKey struct{}

// UnderTerm has whatever is written with the context committed only while a term of
// leadership lasts: the store holds the term in the same transaction, and returns
// [ErrTermOver] once another has begun. It is to writes what a deadline is to waiting, and
// is therefore carried as one is: no verb between a scheduled job and its transaction can
// forget to hand it on. A zero term fences nothing.
func UnderTerm(ctx context.Context, t Term) context.Context {
	if t.Number == 0 {
		return ctx
	}
	return context.WithValue(ctx, termKey{}, t)
}

// TermOf returns the term under which a caller acts, if it does under one.
func TermOf(ctx context.Context) (t Term, under bool) {
	t, under = ctx.Value(termKey{}).(Term)
	return t, under
}
