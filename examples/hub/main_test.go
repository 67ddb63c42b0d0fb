package main

import (
	"io"
	"testing"
	"time"
)

func noEnvironment(string) string { return "" }

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-server", "nowhere"}, {"-companies", "many"}} {
		if err := run(t.Context(), args, noEnvironment, time.Now, io.Discard, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
