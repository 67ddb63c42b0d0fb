package httpapi

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/fault"
)

// rule is what the tags of a field say of its value. The documentation is made of
// the same tags, so what is documented is what holds.
type rule struct {
	least, most    *int // of a number
	longest        *int // characters of a text
	fewest, utmost *int // items of a list
	enum           []string
}

func ruleOf(tag reflect.StructTag) (r rule) {
	for name, bound := range map[string]**int{
		"minimum": &r.least, "maximum": &r.most, "maxLength": &r.longest, "minItems": &r.fewest, "maxItems": &r.utmost,
	} {
		if n, err := strconv.Atoi(tag.Get(name)); err == nil {
			*bound = &n
		}
	}
	if enum := tag.Get("enum"); enum != "" {
		r.enum = strings.Split(enum, ",")
	}
	return r
}

func (r *rule) isZero() bool {
	return r.least == nil && r.most == nil && r.longest == nil && r.fewest == nil && r.utmost == nil && r.enum == nil
}

// broken says which rule a value breaks, and how.
func (r *rule) broken(v reflect.Value) (constraint, how string) {
	v = reflect.Indirect(v)
	under := func(n int, bound *int) bool { return bound != nil && n < *bound }
	over := func(n int, bound *int) bool { return bound != nil && n > *bound }
	switch {
	case v.CanInt() && (under(int(v.Int()), r.least) || over(int(v.Int()), r.most)):
		return "range", "must be " + between(r.least, r.most)
	case v.Kind() == reflect.Slice && (under(v.Len(), r.fewest) || over(v.Len(), r.utmost)):
		return "items", "must have " + between(r.fewest, r.utmost) + " items"
	case v.Kind() == reflect.String && over(utf8.RuneCountInString(v.String()), r.longest):
		return "max_length", fmt.Sprintf("may have %d characters", *r.longest)
	case v.Kind() == reflect.String && r.enum != nil && !slices.Contains(r.enum, v.String()):
		return "enum", "must be one of " + strings.Join(r.enum, ", ")
	}
	return "", ""
}

func between(least, most *int) string {
	switch {
	case most == nil:
		return fmt.Sprintf("at least %d", *least)
	case least == nil:
		return fmt.Sprintf("at most %d", *most)
	}
	return fmt.Sprintf("between %d and %d", *least, *most)
}

// Rules has the rules of a type, by its fields.
type Rules []ruled

// ruled is a field of a body that has a rule.
type ruled struct {
	index []int
	name  string
	rule  rule
}

// RulesOf returns the rules that the tags of a type state.
func RulesOf[T any]() Rules { return rulesOf(reflect.TypeFor[T]()) }

// rulesOf collects the rules of a body. Those of the items of a list are not among
// them: where there are many of something, each is answered for itself.
func rulesOf(t reflect.Type) Rules {
	var list Rules
	if t.Kind() != reflect.Struct || reads[encoding.TextUnmarshaler](t) {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if r := ruleOf(f.Tag); !r.isZero() {
			list = append(list, ruled{[]int{i}, name, r})
		}
		for _, below := range rulesOf(f.Type) {
			if !f.Anonymous {
				below.name = name + "." + below.name
			}
			list = append(list, ruled{append([]int{i}, below.index...), below.name, below.rule})
		}
	}
	return list
}

// CheckRules holds a body to its rules. What is zero was left out; whether it may
// be is not theirs to say, unless it is a list that must have items.
func CheckRules(list Rules, body reflect.Value) error {
	var bad []fault.FieldError
	for _, r := range list {
		v := body.FieldByIndex(r.index)
		if v.IsZero() && r.rule.fewest == nil {
			continue
		}
		if constraint, how := r.rule.broken(v); constraint != "" {
			problem := fault.FieldError{Field: r.name, Constraint: constraint, Message: r.name + " " + how}
			if v.Kind() == reflect.String {
				problem.Value, problem.Safe = shownText(r.name, v.String())
			} else if v.CanInt() {
				problem.Value, problem.Safe = v.Int(), true
			}
			bad = append(bad, problem)
		}
	}
	if len(bad) > 0 {
		return fault.Validation(bad...)
	}
	return nil
}
