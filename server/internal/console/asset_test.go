package console_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// TestScriptIsBuilt proves that the script that is served is made of its source, byte for
// byte: make console builds it.
func TestScriptIsBuilt(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "app.js")
	build := exec.Command("../../../scripts/console", out)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	built, served := read(t, out), read(t, "static/app.js")
	if !bytes.Equal(built, served) {
		t.Error("static/app.js is not what script/ makes: run make console")
	}
}

// TestTypes proves that the compiler of TypeScript finds nothing wrong with the scripts.
func TestTypes(t *testing.T) {
	t.Parallel()
	check := tool.Command(t.Context(), "../../../clients/typescript/node_modules/.bin/tsc", "-p", "script")
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestVendored proves that files of others are as they were released.
func TestVendored(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(string(read(t, "static/SHA256SUMS"))) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sum := sha256.Sum256(read(t, "static/"+name))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s has the sum %s, and was released with %s", name, got, want)
		}
	}
}

// TestWeight proves that scripts and styles are small.
func TestWeight(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("static/*.*s")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	var all bytes.Buffer
	for _, file := range files {
		w := gzip.NewWriter(&all)
		if _, err := w.Write(read(t, file)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if all.Len() > 120<<10 {
		t.Errorf("scripts and styles have %d bytes, compressed", all.Len())
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
