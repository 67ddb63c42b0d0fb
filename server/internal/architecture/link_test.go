package architecture

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// link matches what a Markdown page points at, in a link or in a picture.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)|src="([^"]+)"`)

// TestDocumentationLinks follows every link of the documentation that stays
// inside the tree: a file that was renamed takes its pages along.
func TestDocumentationLinks(t *testing.T) {
	followed := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && foreign(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		page, err := os.ReadFile(path.Join(root, name))
		if err != nil {
			return err
		}
		for _, target := range localLinks(string(page)) {
			followed++
			if _, err := os.Stat(path.Join(root, path.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if followed == 0 {
		t.Error("found no link to follow")
	}
}

// localLinks lists the files that a page points at, without their fragments.
func localLinks(page string) []string {
	var targets []string
	for _, match := range link.FindAllStringSubmatch(page, -1) {
		target, _, _ := strings.Cut(match[1]+match[2], "#")
		if target != "" && !strings.Contains(target, "://") && !strings.HasPrefix(target, "mailto:") {
			targets = append(targets, target)
		}
	}
	return targets
}
