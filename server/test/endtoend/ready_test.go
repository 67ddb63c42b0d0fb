package endtoend

import (
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/test/program"
)

// TestReady starts a node where nothing is yet. How long that took is printed
// (go test -v), and not judged: a test machine has other things to do.
func TestReady(t *testing.T) {
	clock := time.Now
	onBoth(t, func(t *testing.T, d database) {
		program.Path(t) // is built
		s := newSite(t, d)
		began := clock()
		s.start()
		response, err := http.Get("http://" + *s.address.Load() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			t.Errorf("it listens and is not ready: %s", response.Status)
		}
		t.Logf("ready after %v", clock().Sub(began).Round(time.Millisecond))
	})
}
