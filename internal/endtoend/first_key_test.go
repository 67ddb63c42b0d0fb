package endtoend

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"recoup/internal/test/program"
)

var aKey = regexp.MustCompile(`rdb_[a-z2-7]{32}`)

// Without a terminal the first admin key is in a file of its owner and in nothing that is
// printed, so that neither journals nor logs of containers have it.
func TestFirstKeyIsNotPrinted(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		key := s.key()
		if !aKey.MatchString(key) || aKey.MatchString(s.out.String()+s.log.String()) || strings.TrimSpace(s.out.String()) != s.keyFile {
			t.Errorf("the key is %q; the node printed %s and said %s", key, s.out, s.log)
		}
		if info, err := os.Lstat(s.keyFile); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v: %v", info, err)
		}
		if got := s.ask(http.MethodGet, "/v1/keys", ""); got.status != http.StatusOK || !strings.Contains(got.body, "first admin") {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}

// A file or a link that is there already is not written to, and the key that nobody has does
// not stay valid.
func TestFirstKeyFileIsNew(t *testing.T) {
	folder := t.TempDir()
	target := filepath.Join(folder, "target")
	for name, occupy := range map[string]func(string) error{
		"file":    func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"link":    func(path string) error { return os.Symlink(target, path) },
		"missing": func(string) error { return nil },
	} {
		s := newSite(t, database{Nodes: "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")})
		s.keyFile = filepath.Join(folder, name)
		if name == "missing" {
			s.keyFile = filepath.Join(folder, "no", "folder")
		}
		if err := occupy(s.keyFile); err != nil {
			t.Fatal(err)
		}
		s.start()
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if log := s.log.String(); !strings.Contains(log, "the first admin key could not be written and was revoked") || !strings.Contains(log, s.keyFile) || aKey.MatchString(log+s.out.String()) || s.out.String() != "" {
			t.Errorf("%s: %s%s", name, s.out, log)
		}
		if text, _ := os.ReadFile(filepath.Join(folder, "file")); name == "file" && string(text) != "mine" {
			t.Errorf("%s", text)
		}
		if _, err := os.Stat(target); err == nil {
			t.Errorf("%s: the link was followed", name)
		}
		keys, err := exec.CommandContext(t.Context(), program.Path(t), "keys", "list", "--database", s.database, "--json").CombinedOutput()
		if err != nil || !strings.Contains(string(keys), `"revoked_at"`) {
			t.Errorf("%s: %v: %s", name, err, keys)
		}
	}
}
