// Package tier decides which tests run for every change and which are left to
// `make nightly`. It is the only way to leave a test out: a test that is left out is
// reported as skipped, with the reason, and never passes by returning early.
//
// RECOUP_NIGHTLY=1 runs everything, and so does RECOUP_SOAK=1, which also makes long tests
// longer. RECOUP_AREAS lists the areas that a change touches,
// as scripts/changed-areas prints them; if it is not set, every area runs.
package tier

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Area is a part of the product whose tests need something slow: a browser, another
// language, a server of another project.
type Area string

// The areas. scripts/changed-areas lists the paths of each.
const (
	Adoption   Area = "adoption"   // queues of other projects, whose tables are adopted
	Archive    Area = "archive"    // event files: DuckDB and an S3 server
	Browser    Area = "browser"    // the console in Chromium
	Bus        Area = "bus"        // NATS servers
	TypeScript Area = "typescript" // the TypeScript client, on Node
)

// Night reports whether every test runs in full.
func Night() bool { return os.Getenv("RECOUP_NIGHTLY") != "" || os.Getenv("RECOUP_SOAK") != "" }

// Nightly skips a test that does not run for every change. The reason says what it adds
// to the tests that do.
func Nightly(t testing.TB, reason string) {
	t.Helper()
	if !Night() {
		t.Skipf("runs in make nightly (RECOUP_NIGHTLY=1): %s", reason)
	}
}

// Only skips a test of an area that the change does not touch.
func Only(t testing.TB, area Area) {
	t.Helper()
	listed, set := os.LookupEnv("RECOUP_AREAS")
	if set && !Night() && !slices.Contains(strings.Fields(listed), string(area)) {
		t.Skipf("the change does not touch the area %q (RECOUP_AREAS=%q)", area, listed)
	}
}

// Count returns how much of something a test tries: perChange, or all of it in make
// nightly.
func Count(perChange, all int) int {
	if Night() {
		return all
	}
	return perChange
}

// Turn skips case i of n, 2 or 4, unless it is the one that runs for this change.
// RECOUP_QUARTER selects it, as for [Quarter]. make nightly runs all n.
func Turn(t testing.TB, i, n int) {
	t.Helper()
	if !Night() && quarter()%n != i {
		t.Skipf("case %d of %d: runs for changes of another day (RECOUP_QUARTER=%d) and in make nightly", i+1, n, i)
	}
}

// Quarter returns the share [first, end) of n cases that runs for this change, and logs
// it. RECOUP_QUARTER, a number that make derives from the date of the commit, selects
// the share, so that changes on four consecutive days run all of them. make nightly
// runs all n.
func Quarter(t testing.TB, n int) (first, end int) {
	t.Helper()
	if Night() {
		return 0, n
	}
	quarter := quarter()
	first, end = n*quarter/4, n*(quarter+1)/4
	t.Logf("quarter %d of 4: cases %d to %d of %d", quarter+1, first+1, end, n)
	return first, end
}

// quarter is RECOUP_QUARTER as a number from 0 to 3.
func quarter() int {
	n, err := strconv.Atoi(os.Getenv("RECOUP_QUARTER"))
	if err != nil || n < 0 {
		return 0
	}
	return n % 4
}
