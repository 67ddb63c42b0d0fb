package server_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func TestVersion(t *testing.T) {
	said, stderr, status := clitest.Run(t, "version")
	if status != command.ExitDone || stderr != "" || !strings.HasPrefix(said, "recoup ") || !strings.HasSuffix(said, runtime.Version()+"\n") {
		t.Errorf("status %d: %q %s", status, said, stderr)
	}
	if flag, _, status := clitest.Run(t, "--version"); flag != said || status != command.ExitDone {
		t.Errorf("--version: status %d, %q, want %q", status, flag, said)
	}
	out, _, _ := clitest.Run(t, "version", "--json")
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got["go"] != runtime.Version() || got["version"] == "" || got["modified"] != false {
		t.Errorf("%v", got)
	}
}
