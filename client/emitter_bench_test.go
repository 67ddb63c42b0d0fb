package client

import (
	"context"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// idle returns an emitter that sends nothing and whose buffer its user empties, so
// that every event is taken and none is dropped.
func idle(b testing.TB) *Emitter {
	b.Helper()
	c, err := New(Options{Server: "http://127.0.0.1:1", Service: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	m, err := NewEmitter(EmitterOptions{Client: c, Interval: time.Hour, Batch: 10000})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = m.Close(gone) // there is no server
	})
	return m
}

func (m *Emitter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stats.Dropped > 0 {
		panic("events were dropped")
	}
	m.buffer = m.buffer[:0]
}

// BenchmarkEmit hands over events that are all accepted; the target is 150 ns
// and no allocation.
func BenchmarkEmit(b *testing.B) {
	m := idle(b)
	e := recoup.Event{Code: "NETWORK_TIMEOUT", Endpoint: "POST /companies", HTTPStatus: 504, Details: map[string]any{"retryable": true}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%8192 == 0 {
			m.forget()
		}
		m.Emit(e)
	}
}

// BenchmarkEmitDropped hands over events that there is no room for.
func BenchmarkEmitDropped(b *testing.B) {
	m := idle(b)
	for range cap(m.buffer) {
		m.Emit(recoup.Event{Code: "NETWORK_TIMEOUT"})
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Emit(recoup.Event{Code: "NETWORK_TIMEOUT"})
	}
}

// TestEmitAllocatesNothing holds Emit to its promise.
func TestEmitAllocatesNothing(t *testing.T) {
	m := idle(t)
	e := recoup.Event{Code: "NETWORK_TIMEOUT", Details: map[string]any{"retryable": true}}
	if n := testing.AllocsPerRun(1000, func() { m.Emit(e) }); n != 0 {
		t.Errorf("Emit allocates %v times", n)
	}
}

// TestBufferForgets wants details to be garbage once they are written down.
func TestBufferForgets(t *testing.T) {
	m := idle(t)
	m.Emit(recoup.Event{Code: "NETWORK_TIMEOUT", Details: map[string]any{"retryable": true}})
	m.collect()
	for _, e := range append(m.spare[:cap(m.spare)], m.buffer[:cap(m.buffer)]...) {
		if e.Details != nil {
			t.Fatalf("still there: %+v", e)
		}
	}
}
