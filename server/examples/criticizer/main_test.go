package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// TestCriticizer runs the example, and compares what it prints with its page.
func TestCriticizer(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```text\n")
	shown, _, found := strings.Cut(shown, "```")
	if !found {
		t.Fatal("the page shows no output")
	}
	var out, log bytes.Buffer
	if err := run(t.Context(), nil, &out, &log); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &log)
	}
	if out.String() != shown {
		t.Errorf("it prints\n%sand the page shows\n%s", &out, shown)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-server", "nowhere"}, {"-patience", "long"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
