package proof

import "slices"

// Level says how bad a finding is.
type Level string

// An error is something that will go wrong; a warning is something that the
// policy says and that will not happen.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// Rule is a property that a policy is held to.
type Rule struct {
	Name     string `json:"name"`
	Level    Level  `json:"level"`
	Property string `json:"property"`
}

// The names of the rules.
const (
	deadEnd         = "dead-end"
	unreachableRung = "unreachable-rung"
	shadowed        = "shadowed-override"
	impossibleRetry = "impossible-retry"
	disposition     = "disposition"
	owner           = "owner"
	budget          = "retry-budget"
	retryExit       = "retry-exit"
	infinite        = "infinite"
	unblockable     = "unblockable"
	unknownCode     = "unknown-code"
)

var rules = []Rule{
	{deadEnd, Error, "every open error reaches an end by the clock alone, and every parked one by a person's act, but in INFINITE tables"},
	{disposition, Error, "the disposition of an error is always one that its table allows"},
	{owner, Error, "every open error has a deadline or an owner, every parked one an owner and a tier, but in INFINITE tables"},
	{budget, Error, "no error is retried more often than its budget allows"},
	{retryExit, Error, "what must not be retried any more is parked, or kept with its reason and its owner notified"},
	{infinite, Error, "errors of INFINITE tables stay ACTIVE for ever"},
	{unblockable, Error, "every blocking error can be unblocked by a person's act"},
	{unknownCode, Error, "every code that the policy names is registered under that name"},
	{unreachableRung, Warning, "every rung of the ladder is reached before the TTL is over"},
	{shadowed, Warning, "every override, severity rule and parking condition changes an answer, loses no table to another, and has an effect in each table it names"},
	{impossibleRetry, Warning, "every retry of a budget can happen within the window and the TTL"},
}

// Rules lists what a policy is held to.
func Rules() []Rule { return slices.Clone(rules) }

func levelOf(name string) Level {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == name })
	return rules[i].Level
}
