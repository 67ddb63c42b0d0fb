package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// TestSetupWithoutApt runs scripts/setup where nearly every program is missing, apt-get
// too: it names what to install, and installs nothing.
func TestSetupWithoutApt(t *testing.T) {
	t.Parallel()
	bare := t.TempDir()
	for _, name := range []string{"bash", "dirname", "awk", "go", "sort", "head", "cat", "cmp", "rm", "mktemp"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bare, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := tool.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"scripts/setup"}, {"scripts/setup", "--list"}} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bare, "bash"), args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "PATH="+bare)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%v succeeds: %s", args, out)
		}
		wanted := []string{"curl ", "python3 ", "sqlite3 ", "npm "}
		if len(args) == 1 {
			wanted = append(wanted, "install the programs above, then run this again", "apt-get, which")
		}
		for _, want := range wanted {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v does not say %q: %s", args, want, out)
			}
		}
		if strings.Contains(string(out), "installing") {
			t.Errorf("%v installs something: %s", args, out)
		}
	}
}
