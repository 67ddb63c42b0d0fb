package endtoend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A configuration file with a secret that everybody can read is named once at the start and
// by the doctor, with the command that changes it.
func TestLooseConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "recoup.yaml")
	if err := os.WriteFile(file, []byte("channels: {hook: {kind: webhook, url: https://x.example/, secret: sixteen characters}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, database{Nodes: "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")})
	s.flags = []string{"--config", file}
	s.start()
	if n := strings.Count(s.log.String(), "other users can read files with secrets"); n != 1 || !strings.Contains(s.log.String(), "chmod o= "+file) {
		t.Errorf("%d warnings: %s", n, s.log)
	}
	out, said, _ := runDoctor(t, "--server", "http://"+*s.address.Load(), "--key", s.key(), "--json")
	if !strings.Contains(out, "Other users of the machine can read "+file) || !strings.Contains(out, "chmod o= '"+file+"'") {
		t.Errorf("%s%s", out, said)
	}
}
