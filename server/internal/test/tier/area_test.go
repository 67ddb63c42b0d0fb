package tier_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// areas runs scripts/changed-areas in a repository.
func areas(t *testing.T, folder, base string, args ...string) string {
	t.Helper()
	script, err := filepath.Abs("../../../../scripts/changed-areas")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, args...)
	cmd.Env = append(os.Environ(), "RECOUP_TREE="+folder, "CI_BASE="+base)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// repository is a new one with one commit.
func repository(t *testing.T) (folder string, git func(args ...string)) {
	t.Helper()
	folder = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		all := append([]string{"-C", folder, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)
		if out, err := exec.Command("git", all...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet", "--initial-branch", "main")
	git("commit", "--quiet", "--allow-empty", "--message", "base")
	return folder, git
}

func write(t *testing.T, folder, path string) {
	t.Helper()
	path = filepath.Join(folder, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("package x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChangedAreas(t *testing.T) {
	t.Parallel()
	folder, git := repository(t)
	everything := areas(t, folder, "", "--all")
	for path, want := range map[string]string{
		"server/internal/console/page.go":             "browser",
		"server/internal/archive/file.go":             "archive",
		"server/internal/bus/codec.go":                "bus",
		"clients/typescript/src/client.ts":            "typescript",
		"server/internal/adoption/adoption.go":        "adoption bench",
		"server/internal/store/postgres/adopt_row.go": "adoption bench",
		"server/test/bench/report_test.go":            "bench",
		"server/test/load/run.go":                     "bench",
		"server/test/cmd/recoup-bench/main.go":        "bench release",
		"internal/redact/secret.go":                   "",
		"server/cmd/generate/main.go":                 "typescript",
		"client/emitter.go":                           "bench browser bus",
		"go.work":                                     everything,
		"docs/operations.md":                          "",
		"server/internal/store/postgres/error.go":     everything,
		"server/internal/test/tier/tier.go":           everything,
		"go.mod":                                      everything,
		"Makefile":                                    everything,
		".ci/run":                                     everything,
		"a/folder/that/nobody/has/thought/of.x":       everything,
	} {
		write(t, folder, path)
		if got := areas(t, folder, "HEAD"); got != want {
			t.Errorf("%s: areas %q, expected %q", path, got, want)
		}
		if err := os.Remove(filepath.Join(folder, path)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, folder, "server/internal/console/page.go")
	git("add", ".")
	git("commit", "--quiet", "--message", "change")
	if got := areas(t, folder, "HEAD~1"); got != "browser" {
		t.Errorf("a commit: areas %q", got)
	}
}

// Everything runs if it cannot be told what has changed.
func TestEveryAreaWithoutABase(t *testing.T) {
	t.Parallel()
	folder, git := repository(t)
	write(t, folder, "docs/operations.md")
	git("add", ".")
	git("commit", "--quiet", "--message", "change")
	everything := areas(t, folder, "", "--all")
	for _, base := range []string{"", "no-such-commit"} {
		if got := areas(t, folder, base); got != everything {
			t.Errorf("base %q: areas %q, expected all", base, got)
		}
	}
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	if got := areas(t, folder, ""); got != everything {
		t.Errorf("a branch that has landed: areas %q, expected all", got)
	}
	git("update-ref", "refs/remotes/origin/main", "HEAD~1")
	if got := areas(t, folder, ""); got != "" {
		t.Errorf("a change of documents only: areas %q", got)
	}
	for _, area := range []tier.Area{tier.Adoption, tier.Archive, tier.Browser, tier.Bus, tier.TypeScript} {
		if !slices.Contains(strings.Fields(everything), string(area)) {
			t.Errorf("the script does not know the area %s", area)
		}
	}
}
