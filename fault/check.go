package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
)

// check returns all that is wrong with d taken alone.
func (d *Definition) check() []error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %w", d.Code, fmt.Errorf(format, args...)))
	}
	for _, name := range append([]recoup.Code{d.Code}, d.Aliases...) {
		if parsed, err := recoup.ParseCode(string(name)); err != nil {
			wrong("%w", err)
		} else if parsed != name {
			wrong("%s must be written in upper case", name)
		}
	}
	if !slices.Contains(Domains(), d.Domain) {
		wrong("unknown domain %q: expected one of %s", d.Domain, strings.Join(Domains(), ", "))
	}
	if d.Group != "" && !slices.Contains(Groups(), d.Group) {
		wrong("unknown group %q: expected one of %s, or none", d.Group, strings.Join(Groups(), ", "))
	}
	if !d.Category.Valid() {
		wrong("unknown category %q", d.Category)
	}
	if d.Severity == recoup.SeverityNone || !d.Severity.Valid() {
		wrong("unknown severity %q", d.Severity)
	}
	if d.HTTPStatus < 400 || d.HTTPStatus > 599 {
		wrong("http_status %d is not that of an error: expected 400 to 599", d.HTTPStatus)
	}
	d.checkClass(wrong)
	d.checkRetry(wrong)
	d.checkTexts(wrong)
	return problems
}

func (d *Definition) checkClass(wrong func(string, ...any)) {
	conditional := d.Class == recoup.ClassConditional
	if !d.Class.Valid() {
		wrong("unknown class %q", d.Class)
	}
	switch d.Repeat {
	case "":
	case ScopeRequest, ScopeTransaction, ScopeIdempotentOnly:
		if d.Class == recoup.ClassFatal {
			wrong("repeat belongs to codes that are retried, and this one is fatal")
		}
	default:
		wrong("unknown repeat %q", d.Repeat)
	}
	if d.Category == recoup.Structural && d.Class != recoup.ClassFatal {
		wrong("category STRUCTURAL is never retried: its class must be fatal, not %s", d.Class)
	}
	if !conditional && (d.Condition != recoup.ConditionNone || d.Proven != "") {
		wrong("condition and proven belong to conditional codes, and this one is %s", d.Class)
	}
	if !conditional {
		return
	}
	switch d.Condition {
	case recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload, recoup.ConditionStateChanged:
	case recoup.ConditionNone:
		wrong("a conditional code needs a condition")
	default:
		wrong("unknown condition %q", d.Condition)
	}
	switch d.Proven {
	case recoup.ClassImmediate, recoup.ClassShortDelay, recoup.ClassLongDelay:
	default:
		wrong("a conditional code needs the class it has once proven: immediate, short_delay or long_delay, not %q", d.Proven)
	}
}

func (d *Definition) checkRetry(wrong func(string, ...any)) {
	p := d.Retry
	if p == nil {
		return
	}
	if p.Fatal != (d.Class == recoup.ClassFatal) {
		wrong("retry: fatal is %t, and the class is %s", p.Fatal, d.Class)
	}
	if (*p == RetryPolicy{}) { // callers do not retry it
		return
	}
	if p.Fatal {
		if (*p != RetryPolicy{Fatal: true}) {
			wrong("retry: what is fatal has no attempts and no delays")
		}
		return
	}
	if p.MaxAttempts < 1 {
		wrong("retry: max_attempts is %d: a retryable code needs at least 1", p.MaxAttempts)
	}
	if p.BaseDelayMS <= 0 || p.MaxDelayMS < p.BaseDelayMS {
		wrong("retry: the delays %d and %d ms must be positive, the largest last", p.BaseDelayMS, p.MaxDelayMS)
	}
	if p.BackoffMultiplier != 0 && p.BackoffMultiplier < 1 {
		wrong("retry: backoff_multiplier is %v: delays must not shrink", p.BackoffMultiplier)
	}
}

func (d *Definition) checkTexts(wrong func(string, ...any)) {
	filled := func(name string, texts ...string) {
		if len(texts) == 0 || slices.ContainsFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			wrong("%s is empty", name)
		}
	}
	filled("description", d.Description)
	filled("causes", d.Causes...)
	filled("resolution", d.Resolution...)
	e := d.Example
	if e == nil {
		return
	}
	if e.Code != d.Code {
		wrong("the example has another code")
	}
	if e.Message == "" || e.RequestID == "" {
		wrong("the example lacks message or request_id, which every error has")
	}
	if e.RetryAfter > 0 && !d.Retryable(true) {
		wrong("the example has retry_after, and the code is never retried")
	}
}
