package endtoend

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// TestREADME runs the script that README.md offers, as it stands there, in a
// folder that has nothing but the program, and once more there.
func TestREADME(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Try it\n")
	_, section, _ = strings.Cut(section, "\n```bash\n")
	script, _, found := strings.Cut(section, "\n```\n")
	if !found {
		t.Fatal("the page has no script under Try it")
	}
	folder := clone(t)
	for range 2 {
		runREADME(t, folder, script)
	}
}

func runREADME(t *testing.T, folder, script string) {
	t.Helper()
	address := freeAddress(t)
	said := runBash(t, folder, script, "RECOUP_LISTEN="+address, "RECOUP_SERVER=http://"+address)
	rest := said
	for _, want := range []string{
		`"status":"ready"`, `"state":"RETRY_PENDING"`, `"blocked":true`, `"error_code":"PROMOTION_BLOCKED"`,
		`"state":"RESOLVED"`, `"blocked":false`, `"promotion_id"`,
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%s does not come when it should in\n%s", want, said)
		}
		rest = after
	}
}

// ports are below those that the system gives to whoever asks for any, so that nobody
// takes one between its choice and its use.
var ports atomic.Int32

// freeAddress is one that nobody listens on right now.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+(int32(os.Getpid())*16+ports.Add(1))%10000)
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		_ = listener.Close()
		return address
	}
}
