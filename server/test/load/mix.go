package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Share is how often a kind of operation occurs, relative to the others.
type Share struct {
	Kind   string
	Weight int
}

// Mix is of which operations a load consists.
type Mix []Share

// maxWeight bounds a weight, so that their sum is a small number.
const maxWeight = 1_000_000

// ParseMix reads a mix as people write it, "report=40,gate=30". The result has a share for
// every kind, in their order; one that is not named has the weight 0.
func ParseMix(text string, kinds []string) (Mix, error) {
	mix := make(Mix, len(kinds))
	for i, kind := range kinds {
		mix[i].Kind = kind
	}
	named := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, weight, ok := strings.Cut(strings.TrimSpace(part), "=")
		at := slices.Index(kinds, name)
		n, err := strconv.Atoi(weight)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q has no weight: expected KIND=WEIGHT, such as %s=40", part, kinds[0])
		case at < 0:
			return nil, fmt.Errorf("unknown operation %q: operations are %s", name, strings.Join(kinds, ", "))
		case named[name]:
			return nil, fmt.Errorf("%s is given twice", name)
		case err != nil || n < 0 || n > maxWeight:
			return nil, fmt.Errorf("the weight of %s is %q: expected a whole number from 0 to %d", name, weight, maxWeight)
		}
		named[name], mix[at].Weight = true, n
	}
	if mix.total() == 0 {
		return nil, fmt.Errorf("every weight of %q is 0: expected one operation at least", text)
	}
	return mix, nil
}

// Has reports whether a kind occurs.
func (m Mix) Has(kind string) bool { return m.weight(kind) > 0 }

// Part is the share of a kind in the whole, from 0 to 1.
func (m Mix) Part(kind string) float64 { return float64(m.weight(kind)) / float64(m.total()) }

// String writes the mix as [ParseMix] reads it, without what does not occur.
func (m Mix) String() string {
	var parts []string
	for _, s := range m {
		if s.Weight > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", s.Kind, s.Weight))
		}
	}
	return strings.Join(parts, ",")
}

func (m Mix) weight(kind string) int {
	for _, s := range m {
		if s.Kind == kind {
			return s.Weight
		}
	}
	return 0
}

func (m Mix) total() (sum int) {
	for _, s := range m {
		sum += s.Weight
	}
	return sum
}

// pick returns the index of the share that a number below the total falls into.
func (m Mix) pick(n int) int {
	for i, s := range m {
		if n -= s.Weight; n < 0 {
			return i
		}
	}
	return len(m) - 1
}
