package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/test/program"

	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
)

// TestMain prints what the benchmarks have found as two tables, behind their own
// lines.
func TestMain(m *testing.M) {
	if bustest.Serve() {
		return
	}
	program.Main(m)
	fsync := "off; RECOUP_FSYNC=on keeps it on"
	if pgtest.Durable() {
		fsync = "on"
	}
	fmt.Fprintf(os.Stdout, "\nPostgreSQL with fsync %s, ours and the rival's; %d processors; medians (rounds: least–most); CPU with the database server's\n", fsync, runtime.NumCPU())
	contests.print(os.Stdout, "what", "Recoup", "beside it", "times as fast", "CPU", "beside it", "times less")
	growths.print(os.Stdout, "question", "errors", "at first", "in the end", "grows", "CPU at first", "in the end", "grows")
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
// over the rounds, and microseconds of processor time for each unit. One without a
// rival has the spread of its rates.
func contestLine(c *contest, unit, rival string) []string {
	line := []string{name(c.Name()), fmt.Sprintf("%.0f %s/s", median(c.ours), unit), "", "", fmt.Sprintf("%.1f µs", median(c.ourCPU)), "", ""}
	if rival == "" {
		line[3] = fmt.Sprintf("(%d: %.0f–%.0f/s)", len(c.ours), slices.Min(c.ours), slices.Max(c.ours))
		return line
	}
	line[2], line[3] = fmt.Sprintf("%s %.0f/s", rival, median(c.theirs)), spread(c.ratios)
	line[5], line[6] = fmt.Sprintf("%.1f µs", median(c.theirCPU)), spread(c.cpuRatios)
	return line
}

// spread is a median with the number of rounds, the least and the most of them.
func spread(list []float64) string {
	return fmt.Sprintf("%.2f (%d: %.2f–%.2f)", median(list), len(list), slices.Min(list), slices.Max(list))
}

// name is that of a benchmark without what all have in common.
func name(s string) string { return strings.TrimPrefix(s, "Benchmark") }
