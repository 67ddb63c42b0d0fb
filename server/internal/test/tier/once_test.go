package tier_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// part is one call of go test in make test.
type part struct {
	race      bool
	run, skip *regexp.Regexp
	packages  []string
}

func parse(modulePath, line string) part {
	p := part{run: regexp.MustCompile(""), skip: regexp.MustCompile("^$")}
	words := strings.Fields(line)
	for i := 2; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-race":
			p.race = true
		case word == "-run":
			i++
			p.run = regexp.MustCompile(words[i])
		case word == "-skip":
			i++
			p.skip = regexp.MustCompile(words[i])
		case strings.HasPrefix(word, "./"):
			p.packages = append(p.packages, modulePath+word[1:])
		case word == modulePath || strings.HasPrefix(word, modulePath+"/"):
			p.packages = append(p.packages, word)
		}
	}
	return p
}

func (p part) has(pkg, test string) bool {
	return slices.Contains(p.packages, pkg) && p.run.MatchString(test) && !p.skip.MatchString(test)
}

var testName = regexp.MustCompile("^(Test|Fuzz|Example)")

// named lists the tests and fuzz targets of the modules that go.work joins, by package.
func named(t *testing.T, modulePath string) map[string][]string {
	t.Helper()
	list := map[string][]string{}
	err := filepath.WalkDir("../../../..", func(path string, d fs.DirEntry, err error) error {
		switch slashed := filepath.ToSlash(path); {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || slashed == "../../../../tools"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(strings.Replace(filepath.ToSlash(path), "../../../..", modulePath, 1)))
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name != "TestMain" && testName.MatchString(f.Name.Name) {
				list[pkg] = append(list[pkg], f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// make test runs every test of the three modules exactly once, and what shares memory under the
// race detector.
func TestEachTestRunsOnce(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	modulePath := strings.Fields(string(file))[1]
	out, status := script(t, "scripts/test list")
	if status != 0 {
		t.Fatal(out)
	}
	var parts []part
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "go test") {
			parts = append(parts, parse(modulePath, line))
		}
	}
	tests, raced := 0, map[string]bool{}
	for pkg, names := range named(t, modulePath) {
		for _, name := range names {
			tests++
			runs := 0
			for _, p := range parts {
				if p.has(pkg, name) {
					runs++
					raced[pkg] = raced[pkg] || p.race
				}
			}
			if runs != 1 {
				t.Errorf("%s %s runs %d times in make test, expected once", pkg, name, runs)
			}
		}
	}
	if tests < 1000 {
		t.Errorf("only %d tests were found", tests)
	}
	for _, pkg := range []string{"client", "server/internal/api", "server/internal/engine", "server/internal/ledger", "server/internal/notify", "server/internal/push", "server/internal/sdk", "server/internal/store/postgres", "server/internal/store/sqlite"} {
		if !raced[modulePath+"/"+pkg] {
			t.Errorf("%s is not tested under the race detector", pkg)
		}
	}
}
