package sdk

import (
	"context"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

var noon = time.Date(2026, 2, 2, 12, 0, 0, 0, time.UTC)

// id makes ids that can be told apart.
func id(n byte) recoup.ID { return recoup.ID{15: n} }

func start(t testing.TB, o client.EmitterOptions) *client.Emitter {
	t.Helper()
	m, err := client.NewEmitter(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func count[T any](rows func(func(T, error) bool)) (n int) {
	for _, err := range rows {
		if err == nil {
			n++
		}
	}
	return n
}

// run runs a worker until stop is called.
func run(t *testing.T, w client.Worker) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}
