package architecture

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// outside matches tests that reach the product as its users do: over HTTP, by the
// command line, by its binary, by plain SQL, or by the Go packages it offers.
var outside = regexp.MustCompile(`^(server/(internal/(api|cli|gatezero/cli|sdk)|test/endtoend|examples)/|examples/|client/|` +
	`server/internal/store/(postgres|sqlite)/(\w*spec|\w*forbidden|gate_zero_schema|guard_row_security|guard_plain_sql|table)_test\.go$|` +
	`server/internal/gatezero/db_act_test\.go$)`)

// public packages have tests of both kinds: those of package x_test use what a
// program that imports it can use.
var public = regexp.MustCompile(`^(fault|retry|stage)/`)

// TestDoneMeansReachedFromOutside wants of every row of the specification page that
// is done a test that does what a user would do.
func TestDoneMeansReachedFromOutside(t *testing.T) {
	text, err := os.ReadFile(path.Join(root, "docs/specification.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.TrimSpace(cells[5]) != "done" || strings.TrimSpace(cells[3]) == "–" {
			continue
		}
		reached := false
		for _, test := range named.FindAllStringSubmatch(cells[4], -1) {
			reached = reached || isOutside(t, strings.TrimPrefix(test[2], "../"))
		}
		if !reached {
			t.Errorf("%s (%s) is done, and no test of it comes from outside", strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]))
		}
	}
}

func isOutside(t *testing.T, file string) bool {
	t.Helper()
	if !public.MatchString(file) {
		return outside.MatchString(file)
	}
	source, err := os.ReadFile(path.Join(root, file))
	if err != nil {
		t.Error(err)
	}
	return regexp.MustCompile(`(?m)^package \w+_test$`).Match(source)
}
