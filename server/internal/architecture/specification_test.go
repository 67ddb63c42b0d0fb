package architecture

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// named matches a test that the specification page names: [TestX](../x_test.go).
var named = regexp.MustCompile(`\[((?:Test|Fuzz)\w+)\]\(([^)\s]+)\)`)

// TestSpecificationIsHonest wants of every row that is done, or partly done, at
// least one test, and of every test that it exists where the page says.
func TestSpecificationIsHonest(t *testing.T) {
	const page = "docs/specification.md"
	text, err := os.ReadFile(path.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "section" {
			continue
		}
		rows++
		status, tests := strings.TrimSpace(cells[5]), named.FindAllStringSubmatch(cells[4], -1)
		builds := strings.TrimSpace(cells[3]) != "–"
		if status != "not yet" && builds && len(tests) == 0 {
			t.Errorf("%s is %q and names no test", strings.TrimSpace(cells[1]), status)
		}
		for _, test := range tests {
			checkNamed(t, page, test[1], test[2])
		}
	}
	if rows < 150 {
		t.Errorf("found %d rows: has the table changed its form?", rows)
	}
}

func checkNamed(t *testing.T, page, name, target string) {
	t.Helper()
	source, err := os.ReadFile(path.Join(root, path.Dir(page), target))
	if err != nil || !strings.Contains(string(source), "func "+name+"(") {
		t.Errorf("%s names %s in %s, where it is not (%v)", page, name, target, err)
	}
}
