package bench

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// TestMain prints what the benchmarks have found as two tables, behind their own
// lines.
func TestMain(m *testing.M) {
	m.Run()
	contests.print(os.Stdout, "what", "Recoup", "beside it", "times as fast (rounds)", "CPU", "beside it", "times less")
	growths.print(os.Stdout, "question", "at first", "in the end", "grows")
}

// Both are written by one benchmark after the other.
var contests, growths table

// table is lines of cells.
type table struct{ lines [][]string }

func (t *table) add(line []string) { t.lines = append(t.lines, line) }

func (t *table) print(out io.Writer, heads ...string) {
	if len(t.lines) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w)
	for _, line := range slices.Insert(slices.Clone(t.lines), 0, heads) {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	_ = w.Flush() // a terminal
}

// contestLine is a contest in the table: rates and their ratio, with its spread
// over the rounds, and microseconds of processor time for each unit.
func contestLine(c *contest, unit, rival string) []string {
	return []string{
		name(c.Name()),
		fmt.Sprintf("%.0f %s/s", median(c.ours), unit),
		fmt.Sprintf("%s %.0f/s", rival, median(c.theirs)),
		fmt.Sprintf("%.2f (%d: %.2f–%.2f)", median(c.ratios), len(c.ratios), slices.Min(c.ratios), slices.Max(c.ratios)),
		fmt.Sprintf("%.1f µs", median(c.ourCPU)),
		fmt.Sprintf("%.1f µs", median(c.theirCPU)),
		fmt.Sprintf("%.2f", median(c.cpuRatios)),
	}
}

// name is that of a benchmark without what all have in common.
func name(s string) string { return strings.TrimPrefix(s, "Benchmark") }
