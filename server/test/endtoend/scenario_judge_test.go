package endtoend

import (
	"encoding/json"
	"fmt"
	"testing"
)

// judge compares what came of a step with what was expected.
func (s *theatre) judge(at string, want *expectation, got outcome) {
	s.Helper()
	if want.Error == nil && got.Error != nil || want.Undelivered != got.Undelivered {
		s.Fatalf("%s: failed with %v, %d undelivered", at, show(got.Error), got.Undelivered)
	}
	for _, d := range append(differ("answer", want.Answer, plainJSON(s.T, got.Answer)), differ("error", want.Error, plainJSON(s.T, got.Error))...) {
		s.Errorf("%s: %s", at, d)
	}
	if want.Waits == nil {
		return
	}
	if len(*want.Waits) != len(got.Waits) {
		s.Fatalf("%s: the client waited %v, want %v", at, got.Waits, *want.Waits)
	}
	for i, w := range *want.Waits {
		from, to := bounds(w)
		if ms := got.Waits[i]; ms < from || ms > to {
			s.Errorf("%s: wait %d is %v ms, want %v", at, i+1, ms, w)
		}
	}
}

// bounds reads a number, or two.
func bounds(want any) (from, to float64) {
	if list, ok := want.([]any); ok {
		return list[0].(float64), list[1].(float64)
	}
	return want.(float64), want.(float64)
}

// differ says where a value is not as wanted. Of objects, only the members that are
// wanted count; null means that there is none.
func differ(at string, want, got any) (all []string) {
	switch w := want.(type) {
	case nil:
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %s, want an object", at, show(got))}
		}
		for name, v := range w {
			if v == nil && g[name] != nil {
				all = append(all, fmt.Sprintf("%s.%s is %s, want none", at, name, show(g[name])))
			}
			all = append(all, differ(at+"."+name, v, g[name])...)
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf("%s has %d elements, want %d: %s", at, len(g), len(w), show(got))}
		}
		for i, v := range w {
			all = append(all, differ(fmt.Sprintf("%s[%d]", at, i), v, g[i])...)
		}
	default:
		if want != got {
			all = append(all, fmt.Sprintf("%s is %s, want %s", at, show(got), show(want)))
		}
	}
	return all
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// plainJSON returns a value as JSON has it.
func plainJSON(t *testing.T, v any) (plain any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}
