package alert

import (
	"cmp"
	"slices"
	"strings"
)

// maxScopes is how many services or providers have series of their own: callers
// name them. The others together are called Other.
const maxScopes = 100

// Other is the scope of what has no series of its own.
const Other = "_other"

// largest leaves the largest scopes as they are, in the order of their names, and
// puts the others together.
func largest(measured []Sample, metric string) []Sample {
	if len(measured) <= maxScopes {
		return measured
	}
	bySize := slices.SortedFunc(slices.Values(measured), func(a, b Sample) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), strings.Compare(a.Scope, b.Scope))
	})
	rest := Sample{Metric: metric, Scope: Other}
	sum := 0.0
	for _, s := range bySize[maxScopes:] {
		rest.Samples += s.Samples
		rest.Value += s.Value
		sum += s.Value * float64(s.Samples)
	}
	if source(metric) == fromRequests && rest.Samples > 0 {
		rest.Value = sum / float64(rest.Samples) // a mean or a share, by weight
	}
	list := slices.SortedFunc(slices.Values(bySize[:maxScopes]), func(a, b Sample) int { return strings.Compare(a.Scope, b.Scope) })
	return append(list, rest)
}
