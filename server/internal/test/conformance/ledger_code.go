package conformance

import (
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

func codeClauses() []ledgerClause {
	return []ledgerClause{
		{"the registry comes back as it is", registryReturns},
		{"a code can be renewed and another added, and none is removed", registryGrows},
		{"many nodes can register the same codes at once", registeredTogether},
	}
}

func registryReturns(b *Bookkeeper) { b.wantCodes(fault.Default().All()) }

func registryGrows(b *Bookkeeper) {
	known := fault.Default().All()
	changed := *known[0]
	changed.Description, changed.Severity, changed.Class = "Something else is known of it now.", recoup.High, recoup.ClassShortDelay
	added := changed
	added.Code, added.HTTPStatus, added.Group = "AAA_OUR_OWN", 0, ""
	b.must(b.Ledger.SyncCodes(b.Context(), Epoch(), []*fault.Definition{&changed, &added}))
	b.wantCodes(slices.Concat([]*fault.Definition{&added, &changed}, known[1:]))

	// The registry's new word counts for events from now on.
	b.Add(b.Event("billing", added.Code, Epoch()))
	rates, err := b.Ledger.RetryableRates(b.Context(), Epoch(), Epoch())
	b.must(err)
	if len(rates) != 1 || rates[0].Retryable != 1 {
		b.Errorf("the rates are %v, want one retryable event of one", rates)
	}
}

func registeredTogether(b *Bookkeeper) {
	b.together(func(int) error { return b.Ledger.SyncCodes(b.Context(), Epoch(), fault.Default().All()) })
	b.wantCodes(fault.Default().All())
}

func (b *Bookkeeper) wantCodes(want []*fault.Definition) {
	b.Helper()
	got, err := b.Ledger.Codes(b.Context())
	b.must(err)
	if len(got) != len(want) {
		b.Fatalf("%d codes are registered, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(&got[i], want[i]) {
			b.Errorf("%s is registered as\n%+v, want\n%+v", want[i].Code, got[i], *want[i])
		}
	}
}

// together runs a crowd at once and waits for them.
func (b *Bookkeeper) together(run func(i int) error) {
	b.Helper()
	start, results := make(chan struct{}), make([]error, crowd)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			<-start
			results[i] = run(i)
		})
	}
	close(start)
	all.Wait()
	b.must(errors.Join(results...))
}
