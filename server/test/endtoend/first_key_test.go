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

	"github.com/recoup-dev/recoup/server/test/program"
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

// Every start without a valid admin key logs a warning with the command that creates one. The
// warning ends once that command has run.
func TestStartWithoutAdminKeyWarns(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		restart := func() string {
			t.Helper()
			before := len(s.log.String())
			s.start()
			if err := s.signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			return s.log.String()[before:]
		}
		const warning = "no valid admin key"
		if log := restart(); strings.Contains(log, warning) {
			t.Errorf("the first start has created a key, and warns: %s", log)
		}
		keys := func(args ...string) []byte {
			t.Helper()
			out, err := exec.CommandContext(t.Context(), program.Path(t), append(append([]string{"keys"}, args...), "--database", s.database, "--json")...).Output()
			if err != nil {
				t.Fatalf("%v: %v: %s", args, err, out)
			}
			return out
		}
		found := regexp.MustCompile(`"key_id": *"([^"]+)"`).FindAllSubmatch(keys("list"), -1)
		if len(found) != 1 {
			t.Fatalf("found the keys %q", found)
		}
		keys("revoke", string(found[0][1]), "--reason", "lost")
		keys("create", "--role", "reader", "--name", "grafana") // is not enough
		for start := range 2 {
			if log := restart(); strings.Count(log, warning) != 1 || !strings.Contains(log, "recoup keys create --role admin --name NAME --database "+d.Kind+":") {
				t.Errorf("start %d after the key was revoked: %s", start+1, log)
			}
		}
		keys("create", "--role", "admin", "--name", "ada")
		if log := restart(); strings.Contains(log, warning) {
			t.Errorf("with an admin key: %s", log)
		}
	})
}
