package endtoend

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"recoup/internal/test/program"
)

var scripts = regexp.MustCompile("(?s)\n```bash\n(.*?)\n```")

// TestFirstPolicyGuide runs the commands of the guide, as they stand there, in a folder
// that has nothing but the program: from an own table and an own code to a failure that
// is retried and promoted, and one that is parked and notified.
func TestFirstPolicyGuide(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/first-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range scripts.FindAllSubmatch(page, -1) {
		script.Write(append(block[1], '\n'))
	}
	if n := len(regexp.MustCompile(`(?m)^bin/recoup `).FindAllString(script.String(), -1)); n == 0 || n > 12 {
		t.Fatalf("the guide has %d commands of the program", n)
	}
	onBoth(t, func(t *testing.T, d database) {
		folder, address := t.TempDir(), freeAddress(t)
		if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program.Path(t), filepath.Join(folder, "bin", "recoup")); err != nil {
			t.Fatal(err)
		}
		bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script.String()+"\nkill %1; wait")
		bash.Dir = folder
		bash.Env = append(os.Environ(), "RECOUP_DATABASE="+d.Nodes, "RECOUP_LISTEN="+address, "RECOUP_SERVER=http://"+address)
		bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		bash.WaitDelay = time.Second // for a node that it left behind
		var said, log text
		bash.Stdout, bash.Stderr = &said, &log
		if err := bash.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }() // and that node
		if err := bash.Wait(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, &said, &log)
		}
		rest := said.String()
		for _, want := range []string{"policy.yaml is written", "Policy 1 passes", "order-1 waits", "order-1", "order-2", "PARKED", "payments-team", "ORDER_REFUSED", "1 parked"} {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Fatalf("%s does not come when it should in\n%s\n%s", want, &said, &log)
			}
			rest = after
		}
	})
}
