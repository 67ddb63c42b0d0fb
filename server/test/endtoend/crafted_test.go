package endtoend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/archive/parquet/parquettest"
	"github.com/recoup-dev/recoup/server/test/program"
)

// A crafted file of events is refused by name and limit, and reading takes no more memory
// than docs/scale.md says.
func TestCraftedEventFiles(t *testing.T) {
	t.Parallel()
	const ceiling = 512 << 20
	for _, f := range parquettest.Files(archive.Schema()) {
		t.Run(f.Name, func(t *testing.T) {
			folder := t.TempDir()
			sum := sha256.Sum256(f.Bytes)
			rows := 8
			if f.Want == "" {
				rows = 21_000
			}
			manifest := fmt.Sprintf(`{"day":"2026-02-05T00:00:00Z","file":"events-2026-02-05.v1.parquet","version":1,"rows":%d,"bytes":%d,"sha256":"%s","first_ts":"1970-01-01T00:00:00Z","last_ts":"2026-02-06T00:00:00Z"}`, rows, len(f.Bytes), hex.EncodeToString(sum[:]))
			for name, text := range map[string][]byte{"events-2026-02-05.v1.parquet": f.Bytes, "events-2026-02-05.v1.json": []byte(manifest)} {
				if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out, said bytes.Buffer
			took, err := program.PeakMemory(t, &out, &said, "events", "--from-archive", folder, "--limit", "10", "--json")
			if f.Want == "" && err != nil || f.Want != "" && (err == nil || !strings.Contains(said.String(), "events-2026-02-05.v1.parquet: ") || !strings.Contains(said.String(), f.Want)) {
				t.Errorf("%v: %.200s%s, want %q", err, out.String(), said.String(), f.Want)
			}
			if took > ceiling {
				t.Errorf("a file of %d bytes took %d MB", len(f.Bytes), took>>20)
			} else {
				t.Logf("%d MB", took>>20)
			}
		})
	}
}

// A FIFO in the place of a file of events is refused by name. Opening it would block until
// a writer opens it.
func TestPlantedFIFO(t *testing.T) {
	for _, name := range []string{"events-2026-02-05.v1.parquet", "events-2026-02-05.v1.json"} {
		folder := t.TempDir()
		manifest := `{"day":"2026-02-05T00:00:00Z","file":"events-2026-02-05.v1.parquet","version":1,"rows":1,"bytes":1,"sha256":"00","first_ts":"1970-01-01T00:00:00Z","last_ts":"2026-02-06T00:00:00Z"}`
		if err := os.WriteFile(filepath.Join(folder, "events-2026-02-05.v1.json"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, name)
		_ = os.Remove(path) // the manifest
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		out, err := exec.CommandContext(ctx, program.Path(t), "events", "--from-archive", folder, "--limit", "10").CombinedOutput()
		if ctx.Err() != nil || err == nil || !strings.Contains(string(out), path+" is not a regular file") {
			t.Errorf("%v: %s", err, out)
		}
		cancel()
	}
}

// An object of a bucket is copied up to the size that its manifest records, and a manifest up to
// 4 MB. What is larger is refused before the rest is read.
func TestOversizedObject(t *testing.T) {
	const most, endless = 32 << 20, 256 << 20
	for large, want := range map[string]string{
		"events-2026-02-05.v1.parquet": "it was changed or damaged after it was written",
		"events-2026-02-05.v1.json":    "its manifest has more than 4194304 bytes",
	} {
		var sent atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Has("list-type"):
				_, _ = io.WriteString(w, "<ListBucketResult><Contents><Key>events-2026-02-05.v1.json</Key></Contents><Contents><Key>events-2026-02-05.v1.parquet</Key></Contents></ListBucketResult>")
			case strings.HasSuffix(r.URL.Path, large):
				for block := make([]byte, 64<<10); sent.Load() < endless; sent.Add(int64(len(block))) {
					if _, err := w.Write(block); err != nil {
						return
					}
				}
			default:
				_, _ = io.WriteString(w, `{"day":"2026-02-05T00:00:00Z","file":"events-2026-02-05.v1.parquet","version":1,"rows":1,"bytes":1000,"sha256":"00","first_ts":"1970-01-01T00:00:00Z","last_ts":"2026-02-06T00:00:00Z"}`)
			}
		}))
		cmd := exec.CommandContext(t.Context(), program.Path(t), "events", "--from-archive", "s3://acme", "--limit", "10")
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+server.URL, "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		server.Close()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), large) || sent.Load() > most {
			t.Errorf("%s: %v after %d MB: %s", large, err, sent.Load()>>20, out)
		}
	}
}
