package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/test/program"
)

// historyRows is how many failures a file has: a hundred thousand with RECOUP_SOAK=1, few
// with -short.
func historyRows() int {
	switch {
	case os.Getenv("RECOUP_SOAK") == "1":
		return 100_000
	case testing.Short():
		return 500
	}
	return 20_000
}

// BenchmarkImportErrors imports a file of failures with one command, through a node on
// PostgreSQL, and in the same round copies the same file into a table with nothing but a
// primary key, by bare COPY: the ratio is what judging, redacting, grouping, the gate and
// the history of each failure cost. The rows are of the last day, so that each becomes an
// open error.
func BenchmarkImportErrors(b *testing.B) {
	s, binary, folder, rows := serve(b), program.Path(b), b.TempDir(), historyRows()
	execute(b, s.owner, "create table bare (id bigint generated always as identity primary key, entity_id text, code text, created_at timestamptz, message text)")
	c := contest{B: b}
	for b.Loop() {
		file := filepath.Join(folder, fmt.Sprintf("history-%d.csv", len(c.ours)))
		text := historyFile(len(c.ours), rows)
		must(b, os.WriteFile(file, text, 0o600))
		c.round(rows, just(func() { importFile(b, s, binary, file, rows) }), just(func() {
			_, err := s.owner.PgConn().CopyFrom(context.Background(), bytes.NewReader(text), "copy bare (entity_id, code, created_at, message) from stdin (format csv, header)")
			must(b, err)
		}))
	}
	c.report("rows", "copy")
}

// historyFile is a file of failures that no other has.
func historyFile(number, rows int) []byte {
	var text bytes.Buffer
	text.WriteString("entity_id,code,created_at,message\n")
	now := time.Now().UTC()
	for i := range rows {
		at := now.Add(-time.Duration(i) * time.Second / 2)
		fmt.Fprintf(&text, "CO-%d-%06d,NETWORK_TIMEOUT,%s,connect: connection timed out after %d ms\n", number, i, at.Format(time.RFC3339Nano), 100+i%900)
	}
	return text.Bytes()
}

func importFile(b *testing.B, s *served, binary, file string, rows int) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), binary, "import", "errors", file, "--table", dol, "--yes", "--server", s.url)
	cmd.Env = append(os.Environ(), "RECOUP_KEY="+s.key)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("%d rows: %d recorded", rows, rows); err != nil || !strings.Contains(string(out), want) {
		b.Fatalf("%v: %s, want %s", err, out, want)
	}
}
