package redact

import (
	_ "embed"
	"strings"
	"testing"
)

// The lines were written without looking at the rules, so that they are no echo of
// what the rules leave alone. A line that the rules were mended for stays.
var (
	//go:embed testdata/heldout.txt
	heldOut string

	// These have the addresses of machines in them, which are taken, and nothing
	// else that is.
	//go:embed testdata/addresses.txt
	withAddresses string
)

// TestHeldOutLinesStay is the rate of false findings on lines of servers, of
// runtimes, of clouds and in other languages: at most one in two hundred.
func TestHeldOutLinesStay(t *testing.T) {
	t.Parallel()
	touched, lines, by := 0, 0, Evidence{}
	look := func(line string, wanted ...string) {
		line = strings.TrimSuffix(line, "\n")
		clean, evidence := Default().String(line)
		for _, name := range wanted {
			delete(evidence, name)
		}
		lines++
		if len(evidence) == 0 {
			return
		}
		touched++
		by.Merge(evidence)
		t.Logf("%q\nbecame %q", line, clean)
	}
	for line := range strings.Lines(heldOut) {
		look(line)
	}
	for line := range strings.Lines(withAddresses) {
		look(line, "ipv4", "ipv6")
	}
	if lines < 300 || touched*200 > lines {
		t.Errorf("%d of %d lines touched: %v", touched, lines, by)
	}
}
