package endtoend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestTypeScript runs the tests of the TypeScript client.
func TestTypeScript(t *testing.T) {
	tier.Only(t, tier.TypeScript)
	t.Parallel()
	folder := typeScriptPackage(t)
	tests, err := filepath.Glob(filepath.Join(folder, ".cache/test/*.test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("%d tests: %v", len(tests), err)
	}
	out, err := nodeCommand(folder, append([]string{"--test", "--test-reporter=tap"}, tests...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{"# fail 0\n", "# skipped 0\n", "# todo 0\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("there is no %q:\n%s", want, out)
		}
	}
}

// What is published runs wherever fetch does: it needs no module of Node, and no
// other package. node.js is imported by those alone who name it, as recoup/node.
func TestTypeScriptPackageStandsAlone(t *testing.T) {
	tier.Only(t, tier.TypeScript)
	t.Parallel()
	folder := typeScriptPackage(t)
	text, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var described map[string]any
	if err := json.Unmarshal(text, &described); err != nil || described["dependencies"] != nil || described["peerDependencies"] != nil {
		t.Errorf("it depends on %v, %v: %v", described["dependencies"], described["peerDependencies"], err)
	}
	modules, err := filepath.Glob(filepath.Join(folder, "dist/*.js"))
	if err != nil || len(modules) == 0 {
		t.Fatalf("%d modules: %v", len(modules), err)
	}
	for _, module := range modules {
		if filepath.Base(module) == "node.js" {
			continue
		}
		script, err := os.ReadFile(module)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(script)) {
			if _, from, found := strings.Cut(line, " from "); found && (strings.HasPrefix(line, "import") || strings.HasPrefix(line, "export")) && !strings.HasPrefix(from, `"./`) {
				t.Errorf("%s needs %s", filepath.Base(module), from)
			}
		}
		if strings.Contains(string(script), "process.") || strings.Contains(string(script), "Buffer.") {
			t.Errorf("%s uses what browsers lack", filepath.Base(module))
		}
	}
}

// The README's example prints what the README says that it prints.
func TestTypeScriptReadme(t *testing.T) {
	tier.Only(t, tier.TypeScript)
	t.Parallel()
	folder := typeScriptPackage(t)
	readme, err := os.ReadFile(filepath.Join(typeScript, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := fenced(t, string(readme), "It prints:\n\n```\n")
	s := newSite(t, live.SQLite(t))
	s.start()
	cmd := nodeCommand(folder, ".cache/test/readme.js")
	cmd.Env = append(os.Environ(), "RECOUP_SERVER=http://"+*s.address.Load(), "RECOUP_KEY="+s.key())
	complaints := &text{}
	cmd.Stderr = complaints
	got, err := cmd.Output()
	if err != nil || string(got) != want {
		t.Errorf("it prints\n%s\nand ends with %v\n%s", got, err, complaints)
	}
}

// fenced returns the block of a Markdown text that begins in this way.
func fenced(t *testing.T, text, begin string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, begin)
	block, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("there is no %q", begin)
	}
	return block
}
