package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
)

// A file with secrets that others can read is found, wherever a link leads to it. One
// without secrets, one of the service's group, and one that Kubernetes mounts are not.
func TestLooseFiles(t *testing.T) {
	t.Parallel()
	const secret = "channels: {hook: {kind: webhook, url: https://x.example/, secret: sixteen characters}}\n"
	for _, row := range []struct {
		name, text string
		mode       os.FileMode
		link       string // the file's place behind the link; empty: there is none
		fix        string
	}{
		{"webhook secret", secret, 0o644, "", "o="},
		{"database password", "database: postgres://recoup:hunter2@db/recoup\n", 0o604, "", "o="},
		{"writable", secret, 0o602, "", "o="},
		{"no password", "database: postgres://recoup@db/recoup\n", 0o644, "", ""},
		{"no secret", "listen: 127.0.0.1:1\n", 0o644, "", ""},
		{"group", secret, 0o640, "", ""},
		{"owner", secret, 0o600, "", ""},
		{"link", secret, 0o644, "elsewhere/recoup.yaml", "o="},
		{"dots", secret, 0o644, "..x/recoup.yaml", "o="},
		{"kubernetes", secret, 0o644, "..2026_02_05_09_00_00.12/recoup.yaml", ""},
	} {
		folder, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "recoup.yaml")
		at := file
		if row.link != "" {
			at = filepath.Join(folder, row.link)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(at, file); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(at, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at, row.mode); err != nil {
			t.Fatal(err)
		}
		_, o, err := app.ReadConfig(nil, lookup(nil), file, noneAdded)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		switch {
		case row.fix == "" && len(o.LooseFiles) > 0:
			t.Errorf("%s: %v", row.name, o.LooseFiles)
		case row.fix != "" && (len(o.LooseFiles) != 1 || o.LooseFiles[0].Path != at || o.LooseFiles[0].Mode != row.fix):
			t.Errorf("%s: %v, want %s", row.name, o.LooseFiles, at)
		}
	}
}
