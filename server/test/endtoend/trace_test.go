package endtoend

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// tracer looks for traces of many secrets in one reading: by the first bytes of
// each.
type tracer struct {
	starts [1 << 16]bool // by the first two bytes
	traces map[string][]trace
}

type trace struct{ text, rule string }

const traceStart = 8 // bytes by which traces are looked up; none is shorter

func newTracer(corpus []redacttest.Sample) *tracer {
	t := &tracer{traces: map[string][]trace{}}
	for _, sample := range corpus {
		for _, text := range sample.Traces() {
			start := text[:traceStart]
			t.starts[int(text[0])<<8|int(text[1])] = true
			t.traces[start] = append(t.traces[start], trace{text, sample.Rule})
		}
	}
	return t
}

// find returns the rules of the secrets of which a text has a trace.
func (t *tracer) find(text string) []string {
	return slices.Sorted(maps.Keys(t.places(text)))
}

// places returns the rules of the secrets of which a text has a trace, each with the text around
// the first.
func (t *tracer) places(text string) map[string]string {
	const around = 80
	found := map[string]string{}
	for i := 0; i+traceStart <= len(text); i++ {
		if !t.starts[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, one := range t.traces[text[i:i+traceStart]] {
			if _, ok := found[one.rule]; !ok && strings.HasPrefix(text[i:], one.text) {
				found[one.rule] = text[max(0, i-around):min(len(text), i+len(one.text)+around)]
			}
		}
	}
	return found
}

// The tracer finds a secret however it was written and however much of it is left.
func TestTraces(t *testing.T) {
	t.Parallel()
	corpus := redacttest.Planted(7, planted)
	all := newTracer(corpus)
	for _, sample := range corpus {
		for _, text := range sample.Traces() {
			if got := all.find("before " + text + " after"); !slices.Contains(got, sample.Rule) {
				t.Fatalf("%q of a secret (rule %s) is not found", text, sample.Rule)
			}
		}
	}
	if got := all.find("nothing of it is here"); len(got) > 0 {
		t.Errorf("found %v in nothing", got)
	}
}
