package cli_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// A batch that is not in quarantine is named, each of several, beside the result.
func TestQuarantineNamesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	out, said, status := clitest.Run(t, "bus", "quarantine", "retry", "3", "4", "--server", n.URL, "--key", n.Key)
	if status != command.ExitRefused || out != "" {
		t.Errorf("it ends with %d, and prints %q", status, out)
	}
	for _, want := range []string{"batch 3 is not in quarantine", "batch 4 is not in quarantine"} {
		if !strings.Contains(said, want) {
			t.Errorf("it says %q, without %q", said, want)
		}
	}
}
