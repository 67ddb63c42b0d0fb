package endtoend

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// A node whose --policy file is older than what was applied since starts, says so,
// and goes by the newer one. Another text under a version that was there is
// refused.
func TestRestartWithAnEarlierPolicyFile(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		earlier := string(policy.DefaultFile())
		newer := strings.Replace(earlier, "version: 1.0.0", "version: 1.1.0", 1)
		write(earlier)
		s := newSite(t, d)
		s.flags = []string{"--policy", file}
		s.start()
		body, err := json.Marshal(map[string]string{"text": newer, "reason": "because"})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.ask(http.MethodPut, "/v1/policy", string(body)); got.status >= 300 {
			t.Fatal(got.body)
		}
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.start() // fails the test if it cannot
		if !strings.Contains(s.log.String(), "an earlier version than the one in force") {
			t.Errorf("the node does not say that its file is not in force:\n%s", s.log)
		}
		if got := s.ask(http.MethodGet, "/v1/policy", ""); !strings.Contains(got.body, `"version":"1.1.0"`) {
			t.Errorf("in force is %.200s", got.body)
		}
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		write(strings.Replace(earlier, "min_samples: 20", "min_samples: 21", 1))
		if said := s.refuses(); !strings.Contains(said, `has the version "1.0.0", which a policy with another text had before`) {
			t.Errorf("another text of a known version: %s", said)
		}
	})
}

// A policy file that takes force, at the start of a node or because it has changed, is in the log with
// its version, its checksum and its path, and in the audit with its version and checksum.
func TestPolicyFileIsLogged(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		s := newSite(t, d)
		s.flags = []string{"--policy", file}
		for i, version := range []string{"1.0.0", "1.1.0"} {
			text := strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: "+version, 1)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				s.start()
			}
			s.until("the policy "+version, func() reply { return s.ask(http.MethodGet, "/v1/audit?act=policy.add&target="+version, "") }, func(r reply) bool {
				return strings.Contains(r.body, `"`+version+`"`)
			})
			checksum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
			if got := s.ask(http.MethodGet, "/v1/audit?act=policy.add&target="+version, ""); !strings.Contains(got.body, checksum) || !strings.Contains(got.body, "policy file of a node") {
				t.Errorf("the audit does not have the checksum %s: %s", checksum, got.body)
			}
			line := fmt.Sprintf(`level=INFO msg="policy file applied" version=%s checksum=%s file=%s`, version, checksum, file)
			s.until("the log", s.ready, func(reply) bool { return strings.Contains(s.log.String(), line) })
		}
	})
}
