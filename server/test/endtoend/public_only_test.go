package endtoend

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoup-dev/recoup/server/test/program"
)

// Webhooks do not reach a private network unless the operator allows it, whether the address
// or a name leads there. The error names the address and the setting.
func TestPublicOnlyByDefault(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(hook.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(hook.URL, "http://"), ":")
	s := newSite(t, database{Nodes: "sqlite:" + t.TempDir() + "/recoup.db"})
	s.env = []string{
		"RECOUP_CHANNELS=address,name,allowed",
		"RECOUP_CHANNEL_ADDRESS_KIND=webhook", "RECOUP_CHANNEL_ADDRESS_URL=" + hook.URL, "RECOUP_CHANNEL_ADDRESS_SECRET=sixteen characters",
		"RECOUP_CHANNEL_NAME_KIND=webhook", "RECOUP_CHANNEL_NAME_URL=http://localhost:" + port, "RECOUP_CHANNEL_NAME_SECRET=sixteen characters",
		"RECOUP_CHANNEL_ALLOWED_KIND=webhook", "RECOUP_CHANNEL_ALLOWED_URL=" + hook.URL, "RECOUP_CHANNEL_ALLOWED_SECRET=sixteen characters", "RECOUP_CHANNEL_ALLOWED_PUBLIC_ONLY=false",
	}
	s.start()
	try := func(name string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program.Path(t), "channels", "test", name)
		cmd.Env = append(os.Environ(), "RECOUP_SERVER=http://"+*s.address.Load(), "RECOUP_KEY="+s.key())
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	for _, name := range []string{"address", "name"} {
		said, err := try(name)
		if err == nil || !strings.Contains(said, "is not public; public_only: false allows private networks") || !strings.Contains(said, "127.0.0.1") && !strings.Contains(said, "::1") {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
	if reached.Load() != 0 {
		t.Error("a private address was reached")
	}
	if said, err := try("allowed"); err != nil || reached.Load() != 1 {
		t.Errorf("%v: %s", err, said)
	}
}
