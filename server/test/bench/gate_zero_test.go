package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/test/program"
)

// importRows is how many rows the file has: a million with RECOUP_SOAK=1, a
// chunk with -short.
func importRows() int {
	switch {
	case os.Getenv("RECOUP_SOAK") == "1":
		return 1_000_000
	case testing.Short():
		return gatezerotest.Chunk
	}
	return 100_000
}

// BenchmarkGateZeroImport imports a file with one command into an embedded
// database, and in the same run writes the same rows with bare batched inserts:
// into a table with nothing but its primary key, and into one that could tell
// that a row is there already. It prints the rates, their ratios by the clock and
// by the processor, which a busy machine does not change, and the most memory that
// the command has had.
func BenchmarkGateZeroImport(b *testing.B) {
	file, rows := writeCandidates(b)
	var bare, keyed pace
	b.Run("bare", func(b *testing.B) { bare = writeBare(b, rows, insertIntakes) })
	b.Run("bare_with_key", func(b *testing.B) { keyed = writeBare(b, rows, insertKeyedIntakes) })
	b.Run("command", func(b *testing.B) {
		binary, peak, spent := program.Path(b), 0.0, time.Duration(0)
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), binary, "gate-zero", "import", file, "--batch", "b1", "--complete",
				"--database", "sqlite:"+filepath.Join(b.TempDir(), fmt.Sprint(peak, "import.db")))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			must(b, cmd.Start())
			over := make(chan float64, 1)
			go func() { over <- peakMemory(cmd.Process.Pid) }()
			if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), strconv.Itoa(len(rows))+" added") {
				b.Fatalf("%v: %s", err, &out)
			}
			peak, spent = max(peak, <-over), spent+cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
		}
		ours := paceOf(b, len(rows), spent)
		b.ReportMetric(ours.clock/bare.clock, "of_bare")
		b.ReportMetric(ours.clock/keyed.clock, "of_bare_with_key")
		b.ReportMetric(ours.cpu/bare.cpu, "cpu_of_bare")
		b.ReportMetric(ours.cpu/keyed.cpu, "cpu_of_bare_with_key")
		b.ReportMetric(peak, "peak_MB")
	})
}

func paceOf(b *testing.B, rows int, spent time.Duration) pace {
	n := float64(rows) * float64(b.N)
	p := pace{n / b.Elapsed().Seconds(), n / spent.Seconds()}
	b.ReportMetric(p.clock, "rows/s")
	b.ReportMetric(p.cpu, "rows/cpu_s")
	return p
}

// peakMemory watches a process until it ends, and returns the most memory that it
// has had, in MB. What the system keeps of a child begins with its parent's.
func peakMemory(pid int) (peak float64) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, found := strings.Cut(string(status), "VmHWM:")
		if err != nil || !found {
			return peak // it has ended
		}
		if kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64); err == nil {
			peak = kb / 1024
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// writeCandidates writes a file, and returns its rows as the store would have
// them.
func writeCandidates(b *testing.B) (string, []recoup.Intake) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "companies.csv")
	f, err := os.Create(path)
	must(b, err)
	w := bufio.NewWriter(f)
	_, err = w.WriteString("company_name,domain,linkedin_url,state\n")
	must(b, err)
	rows := gatezerotest.Companies(importRows())
	for i := range rows {
		c := &rows[i]
		_, err := fmt.Fprintf(w, "%s,%s,%s,%s\n", c.CompanyName, c.Domain, c.LinkedInURL, c.State)
		must(b, err)
	}
	must(b, w.Flush())
	must(b, f.Close())
	return path, rows
}

// writeBare writes rows in the chunks of the command.
func writeBare(b *testing.B, rows []recoup.Intake, prepare func(b *testing.B) func([]recoup.Intake)) pace {
	b.Helper()
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		write := prepare(b)
		spent -= ownTime(b)
		b.StartTimer()
		for at := 0; at < len(rows); at += gatezerotest.Chunk {
			write(rows[at : at+gatezerotest.Chunk])
		}
		spent += ownTime(b)
	}
	return paceOf(b, len(rows), spent)
}

// insertKeyedIntakes is insertIntakes with an index on what tells rows apart.
func insertKeyedIntakes(b *testing.B) func([]recoup.Intake) {
	return bareIntakes(b, "create unique index bare_key on bare (batch_id, import_key)")
}
