package architecture

import (
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// walk matches the heading of a walk and how many files it says to have.
var (
	walk     = regexp.MustCompile(`(?m)^\*\*([^*]+)\*\* \((\d+) files, (\d+) shapes`)
	walkFile = regexp.MustCompile("`([a-z_/0-9]+\\.go)`")
	declared = regexp.MustCompile("`([A-Za-z.]+)` in \\[([a-z_/0-9]+\\.go)\\]")
)

// TestWalks reads the walks of docs/architecture.md: every file on the way exists, is
// named with its folder, and there are as many as the walk says.
func TestWalks(t *testing.T) {
	most := map[string]int{"An event to disk": 20, "An error from report to archive": 22}
	page := section(t, "## Four walks")
	heads := walk.FindAllStringSubmatchIndex(page, -1)
	if len(heads) != 4 {
		t.Fatalf("found %d walks, want 4", len(heads))
	}
	for i, head := range heads {
		name, said := page[head[2]:head[3]], page[head[4]:head[5]]
		text := page[head[1]:]
		if i+1 < len(heads) {
			text = page[head[1]:heads[i+1][0]]
		}
		files := map[string]bool{}
		for row := range strings.Lines(text) {
			if !strings.HasPrefix(row, "|") {
				continue // what is left out, and why
			}
			for _, match := range walkFile.FindAllStringSubmatch(row, -1) {
				files[match[1]] = true
				if _, err := os.Stat(path.Join(root, match[1])); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if strconv.Itoa(len(files)) != said {
			t.Errorf("%s has %d files and says %s", name, len(files), said)
		}
		if limit, ok := most[name]; ok && len(files) > limit {
			t.Errorf("%s has %d files, and %d are as many as a reader should need", name, len(files), limit)
		}
	}
}

// TestWhereIsIt finds what the table names as decisive in the file that it leads to.
func TestWhereIsIt(t *testing.T) {
	rows := declared.FindAllStringSubmatch(section(t, "## Where is it?"), -1)
	if len(rows) < 12 {
		t.Errorf("%d rows name what to look for, want a dozen", len(rows))
	}
	for _, row := range rows {
		source, err := os.ReadFile(path.Join(root, row[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		name := regexp.QuoteMeta(row[1][strings.LastIndex(row[1], ".")+1:])
		if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` + name + `\b`).Match(source) {
			t.Errorf("%s does not declare %s", row[2], row[1])
		}
	}
}

// section returns a part of docs/architecture.md, from its heading to the next.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile(path.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/architecture.md has no section %q", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}
