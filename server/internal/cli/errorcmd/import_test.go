package errorcmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
)

// TestImportOfNothing proves that a file without rows is said to have none.
func TestImportOfNothing(t *testing.T) {
	n := clitest.Start(t, false)
	for name, text := range map[string]string{"empty.csv": "", "header.csv": "company,what\n", "blank.ndjson": "\n\n"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := n.Run("import", "errors", file, "--yes"); got.Status != 0 || !strings.Contains(strings.Join(strings.Fields(got.Err), " "), name+" has no rows") {
			t.Errorf("%s: %d\n%s%s", name, got.Status, got.Out, got.Err)
		}
	}
}
