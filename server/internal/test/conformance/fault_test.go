package conformance

import (
	"context"
	"flag"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// verdict stands in for the test of a clause that is expected to fail.
type verdict struct {
	testing.TB
	failed atomic.Bool
}

func (v *verdict) Logf(string, ...any)      {}
func (v *verdict) Log(...any)               {}
func (v *verdict) Fail()                    { v.failed.Store(true) }
func (v *verdict) Failed() bool             { return v.failed.Load() }
func (v *verdict) Errorf(string, ...any)    { v.Fail() }
func (v *verdict) Error(...any)             { v.Fail() }
func (v *verdict) Fatalf(string, ...any)    { v.FailNow() }
func (v *verdict) Fatal(...any)             { v.FailNow() }
func (v *verdict) FailNow()                 { v.Fail(); runtime.Goexit() }
func (v *verdict) Context() context.Context { return v.TB.Context() }

// fails reports whether a clause finds fault with a store.
func fails(t *testing.T, try func(*Driver), s Store) bool {
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		try(NewDriver(v, s))
	}()
	<-done
	return v.Failed()
}

// A suite that accepts everything would prove nothing. Each row is a mistake
// that a store could make, and the clause that must notice it.
func TestMistakesAreNoticed(t *testing.T) {
	for _, row := range slices.Concat(writingMistakes(), claimMistakes(), readingMistakes(), keepingMistakes(), receiptMistakes()) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if fails(t, row.by, newMemory()) {
				t.Fatal("the clause fails on a store without the mistake")
			}
			if !fails(t, row.by, row.make(newMemory())) {
				t.Error("nobody noticed")
			}
		})
	}
}

// mistake is a store that does one thing wrong.
type mistake struct {
	name string
	by   func(*Driver)
	make func(m *memory) Store
}

// TestMain keeps rapid from writing files about failures that are wanted.
func TestMain(m *testing.M) {
	flag.Parse()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	m.Run()
}
