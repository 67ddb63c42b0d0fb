package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The checksum of files is that of the go command.
func TestChecksum(t *testing.T) {
	t.Parallel()
	m := module{files: map[string][]byte{"go.mod": []byte("module example.com/m\n")}}
	if got := m.checksum(""); got != "h1:flS2VctbRrTv+sBE+VKgxx6hlkMGPVz9MGOmzMYFg3k=" {
		t.Errorf("got %s", got)
	}
}

// tree is a small repository with the modules of this one.
func tree(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":             "module example.com/recoup\n\ngo 1.26.0\n",
		"recoup.go":          "package recoup\n",
		"LICENSE":            "licence\n",
		"tools/go.mod":       "module example.com/recoup/tools\n",
		"tools/tool.go":      "package tools\n",
		"server/go.mod":      "module example.com/recoup/server\n\ngo 1.26.0\n\nreplace example.com/recoup => ../\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/recoup v0.0.0\n)\n",
		"server/go.sum":      "example.com/a v1.0.0 h1:a=\nexample.com/a v1.0.0/go.mod h1:b=\nexample.com/z v1.0.0 h1:z=\n",
		"server/main.go":     "package main\n",
		"server/test/go.mod": "module example.com/recoup/server/test\n",
		"server/test/a.go":   "package test\n",
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", folder, "init", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return folder
}

// A release requires the SDK by its version, with checksums, and replaces nothing.
func TestPrepareRelease(t *testing.T) {
	t.Parallel()
	folder := tree(t)
	if err := prepareRelease(folder, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(folder, "server/go.mod"))
	if err != nil || strings.Contains(string(gomod), "replace") || !strings.Contains(string(gomod), "\texample.com/recoup v0.1.0\n") {
		t.Errorf("go.mod is %v\n%s", err, gomod)
	}
	gosum, err := os.ReadFile(filepath.Join(folder, "server/go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(gosum)))
	if len(lines) != 5 || !strings.HasPrefix(lines[2], "example.com/recoup v0.1.0 h1:") || !strings.HasPrefix(lines[3], "example.com/recoup v0.1.0/go.mod h1:") {
		t.Errorf("go.sum is\n%s", gosum)
	}
	if err := prepareRelease(folder, "v0.1.0"); err != nil {
		t.Errorf("again: %v", err)
	}
	if again, err := os.ReadFile(filepath.Join(folder, "server/go.sum")); err != nil || !bytes.Equal(again, gosum) {
		t.Errorf("the second time, go.sum is %v\n%s", err, again)
	}
}

// A replacement that is left is an error.
func TestReleaseRefusesReplacements(t *testing.T) {
	t.Parallel()
	folder := tree(t)
	file := filepath.Join(folder, "go.mod")
	if err := os.WriteFile(file, []byte("module example.com/recoup\n\nreplace example.com/a => ../a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := prepareRelease(folder, "v0.1.0"); err == nil || !strings.Contains(err.Error(), "example.com/recoup replaces example.com/a") {
		t.Errorf("got %v", err)
	}
}

// The zip of a module has its files and the licence, and nothing of the modules below it.
func TestProxy(t *testing.T) {
	t.Parallel()
	folder, proxy := tree(t), t.TempDir()
	if err := writeProxy(folder, proxy, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"example.com/recoup":        {"LICENSE", "go.mod", "recoup.go"},
		"example.com/recoup/server": {"LICENSE", "go.mod", "go.sum", "main.go"},
	} {
		archive, err := zip.OpenReader(filepath.Join(proxy, name, "@v/v0.1.0.zip"))
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, f := range archive.File {
			files = append(files, strings.TrimPrefix(f.Name, name+"@v0.1.0/"))
		}
		if err := archive.Close(); err != nil || !slices.Equal(files, want) {
			t.Errorf("%s has %q, want %q (%v)", name, files, want, err)
		}
	}
	if got := escaped("example.com/Team/recoup"); got != "example.com/!team/recoup" {
		t.Errorf("the folder of a path with capitals is %s", got)
	}
}
