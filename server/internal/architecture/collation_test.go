package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// folds matches SQL whose result depends on the locale of the database, unless a collation is named.
var folds = regexp.MustCompile(`(?i)\b(lower|upper|initcap)\(|\bilike\b|\btmmonth\b`)

// TestCaseFoldingNamesACollation wants SQL for PostgreSQL to name a collation where it folds case: in a
// Turkish database the lower case of INSERT is ınsert.
func TestCaseFoldingNamesACollation(t *testing.T) {
	for _, folder := range []string{"server/internal/store/postgres", "server/internal/adoption", "server/internal/pgsession"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sql") ||
				filepath.Base(path) == "name.go" { // lists keywords
				return err
			}
			text, err := os.ReadFile(path)
			for n, line := range strings.Split(string(text), "\n") {
				comment := strings.HasPrefix(strings.TrimSpace(line), "--") || strings.HasPrefix(strings.TrimSpace(line), "//")
				if !comment && folds.MatchString(line) && !strings.Contains(line, `collate "C"`) {
					t.Errorf("%s:%d folds case by the locale of the database; add collate \"C\": %s", path, n+1, strings.TrimSpace(line))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
