package redact

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxDepth is how deep objects and arrays may be nested. Deeper ones are replaced.
	maxDepth = 32

	// shortestCard has thirteen digits. Smaller numbers match no rule.
	shortestCard = 1e12
)

// Value cleans decoded JSON: strings by [Redactor.String], also where they are
// keys, numbers that are card numbers, and everything under a name such as
// password or api_key. It does not change v; a clean v comes back as it is. A
// type that JSON does not decode to is replaced, because nothing is known of it.
func (r *Redactor) Value(v any) (any, Evidence) {
	w := walk{Redactor: r}
	v, _ = w.value(v, 0)
	return v, w.evidence
}

// walk cleans one value. Its methods say whether they changed something, so that
// what is clean is neither copied nor allocated.
type walk struct {
	*Redactor
	evidence Evidence
}

func (w *walk) value(v any, depth int) (any, bool) {
	switch typed := v.(type) {
	case nil, bool:
		return v, false
	case string:
		return w.text(v, typed)
	case json.Number:
		return w.text(v, typed.String())
	case float64:
		if math.Abs(typed) < shortestCard {
			return v, false
		}
		return w.text(v, strconv.FormatFloat(typed, 'f', -1, 64))
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32:
		return w.text(v, fmt.Sprint(typed))
	case map[string]any:
		if depth == maxDepth {
			return w.take(tooDeep), true
		}
		if copied := w.object(typed, depth); copied != nil {
			return copied, true
		}
		return v, false
	case []any:
		if depth == maxDepth {
			return w.take(tooDeep), true
		}
		if copied := w.array(typed, depth); copied != nil {
			return copied, true
		}
		return v, false
	}
	return w.take(unsupported), true
}

func (w *walk) take(rule string) string {
	w.evidence.add(rule, 1)
	return Replacement(rule)
}

// text returns v, or its text cleaned if there is something to clean.
func (w *walk) text(v any, text string) (any, bool) {
	clean, evidence := w.String(text)
	if len(evidence) == 0 {
		return v, false
	}
	w.evidence.Merge(evidence)
	return clean, true
}

// array returns a cleaned copy, or nil if there is nothing to clean. A private key
// may come as an array of its lines.
func (w *walk) array(items []any, depth int) []any {
	copied := w.arguments(items)
	if copied != nil {
		items = copied
	}
	inKey := false
	for i, item := range items {
		name := ""
		if i == 1 && len(items) == 2 {
			name = nameIn(items[0]) // a header: ["Authorization", "…"]
		}
		clean, changed := w.member(name, item, depth)
		if line, ok := item.(string); ok && inKey {
			inKey = !pemEnd.MatchString(line)
			if !w.replaced(line, span{to: len(line)}) {
				clean, changed = w.take("pem"), true
			}
		} else if ok {
			inKey = opensPrivateKey(line)
		}
		if changed && copied == nil {
			copied = slices.Clone(items)
		}
		if changed {
			copied[i] = clean
		}
	}
	return copied
}

// object returns a cleaned copy, or nil if there is nothing to clean.
func (w *walk) object(object map[string]any, depth int) map[string]any {
	var copied map[string]any
	var renamed []string
	pair, all := w.pairName(object), object["kind"] == "Secret"
	for key, item := range object {
		name := key
		if pair != "" && holds(key, item) {
			name = pair
		}
		if all && roleOf(key) == holdsAll {
			name = "secret"
		}
		clean, changed := w.member(name, item, depth)
		if len(w.spans(key)) > 0 {
			renamed = append(renamed, key)
		}
		if (changed || len(renamed) > 0) && copied == nil {
			copied = maps.Clone(object)
		}
		if changed {
			copied[key] = clean
		}
	}
	w.rename(copied, renamed)
	return copied
}

// namingKeys are the members of an object that name what another one holds.
var namingKeys = [...]string{
	"name", "Name", "key", "Key", "field", "Field", "path", "param", "parameter", "property", "propertyName", "PropertyName", "loc", "instancePath", "ParameterKey", "variable", "column",
}

// pairName returns the name in an object such as {"name": "DB_PASSWORD", "value": "…"},
// or "".
func (w *walk) pairName(object map[string]any) string {
	for _, key := range namingKeys {
		v := object[key]
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[len(list)-1]
		}
		if name := nameIn(v); name != "" && !(key == "path" && routed(name)) && !w.gate.scan(name).and(w.gate.named).empty() {
			return name
		}
	}
	if object["Type"] == "SecureString" || object["type"] == "SecureString" {
		return "secret"
	}
	return ""
}

// holds reports whether a member of an object holds what another one names. An object is no such
// value: validators return all of their input if a part is missing.
func holds(key string, item any) bool {
	if _, object := item.(map[string]any); object && !strings.EqualFold(key, "value") {
		return false
	}
	r := roleOf(key)
	return r == holdsValue || r == holdsAll
}

// nameIn returns a value that can be a name: one word.
func nameIn(v any) string {
	if name, ok := v.(string); ok && !strings.ContainsAny(name, " \t\n") {
		return name
	}
	return ""
}

// member cleans the value of a key. Nothing and a yes or no are no secrets, even
// under the name of one.
func (w *walk) member(key string, item any, depth int) (any, bool) {
	rule := w.secretKey(key, item)
	if rule == "" || verdictValue(item) {
		return w.value(item, depth+1)
	}
	switch item := item.(type) {
	case nil, bool:
		return item, false
	case string:
		if item == "" || w.replaced(item, span{to: len(item)}) {
			return item, false
		}
	}
	return w.take(rule), true
}

// secretKey returns the rule that takes a value under a key, or "".
func (r *Redactor) secretKey(key string, v any) string {
	for i := range r.gate.scan(key).and(r.gate.named).all {
		if r.rules[i].key(key, v) {
			return r.rules[i].name
		}
	}
	if i, ok := r.exact[key]; ok && r.rules[i].key(key, v) {
		return r.rules[i].name
	}
	return ""
}

// rename cleans keys, in order, so that the result does not depend on the order of
// a map. Keys that become equal are numbered: no member is lost.
func (w *walk) rename(object map[string]any, keys []string) {
	slices.Sort(keys)
	seen := map[string]int{}
	for _, key := range keys {
		clean, evidence := w.String(key)
		w.evidence.Merge(evidence)
		unique := clean
		for taken := true; taken; {
			if seen[clean]++; seen[clean] > 1 {
				unique = fmt.Sprintf("%s (%d)", clean, seen[clean])
			}
			_, taken = object[unique]
		}
		object[unique] = object[key]
		delete(object, key)
	}
}
