package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// plant puts a file of a day and version into a folder, with a manifest that says so.
func plant(t *testing.T, folder string, version any, body []byte) {
	t.Helper()
	sum := sha256.Sum256(body)
	name := fmt.Sprintf("events-2026-02-05.v%v", version)
	manifest := fmt.Sprintf(`{"day":"2026-02-05T00:00:00Z","file":"%s.parquet","version":%v,"rows":1,"bytes":%d,"sha256":"%s","first_ts":"1970-01-01T00:00:00Z","last_ts":"2026-02-05T12:00:00Z","codes":[{"code":"A","count":1}]}`,
		name, version, len(body), hex.EncodeToString(sum[:]))
	for path, text := range map[string][]byte{name + ".parquet": body, name + ".json": []byte(manifest)} {
		if err := os.WriteFile(filepath.Join(folder, path), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A version that somebody made up is not counted on from: it would become negative, a name
// that nobody reads, and the files of the day would be removed as older ones.
func TestPlantedVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9223372036854775807", "9223372036854775806", "99999999999999999999", "4294967297", "2147483647", "1000000000"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			l := &ledger{}
			l.add(event(1, "A", day, true))
			f := filer(t, l, folder)
			plant(t, folder, version, []byte("x"))
			filed, err := f.File(t.Context(), day)
			if err := errors.Join(err, f.Tidy(t.Context(), day)); err != nil || filed.Version != 1 {
				t.Fatalf("%s: %v", filed.Name, err)
			}
			list, _, err := opened(t, f).Events(t.Context(), store.EventFilter{}, sqldb.Page{Limit: 10})
			if err != nil || len(list) != 1 {
				t.Errorf("%v: %v", list, err)
			}
		})
	}
}

// The highest version that counts is refused with what to do, and no file is lost.
func TestHighestVersion(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l := &ledger{}
	l.add(event(1, "A", day, true))
	f := filer(t, l, folder)
	if _, err := f.File(t.Context(), day); err != nil {
		t.Fatal(err)
	}
	plant(t, folder, 999_999_999, []byte("x"))
	l.add(event(2, "A", day, true))
	_, err := f.File(t.Context(), day)
	if !errors.Is(err, archive.ErrVersion) || !strings.Contains(err.Error(), "remove the files with version 999999999 from "+folder) {
		t.Errorf("%v", err)
	}
	names, err := f.Place.List(t.Context(), "events-")
	if err != nil || !slices.Contains(names, "events-2026-02-05.v1.parquet") {
		t.Errorf("left are %v: %v", names, err)
	}
}

// A day is held in memory as far as there is room, and no event is left out between pages.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	for i := range 600 {
		e := event(i, recoup.Code(fmt.Sprint("C", i%2)), day.Add(1), false)
		if i%3 > 0 {
			e.Details = map[string]any{"field": strings.Repeat("x", 8_000)}
		}
		l.add(e)
	}
	f := filer(t, l, t.TempDir())
	if _, err := f.File(t.Context(), day); err != nil {
		t.Fatal(err)
	}
	a := opened(t, f)
	var got int
	var last recoup.ID
	for page := (sqldb.Page{Limit: 70}); ; {
		list, next, err := a.Events(t.Context(), store.EventFilter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if got++; got > 1 && bytes.Compare(e.ID[:], last[:]) >= 0 {
				t.Fatalf("event %v comes after %v", e.ID, last)
			}
			last = e.ID
		}
		if page.Cursor = next; next.IsZero() {
			break
		}
	}
	if err := a.Close(); err != nil || got != len(l.events) {
		t.Errorf("%d of %d events: %v", got, len(l.events), err)
	}
}

// Details that the ledger cannot have, and a manifest without end, are refused.
func TestOversized(t *testing.T) {
	t.Parallel()
	l, folder := &ledger{}, t.TempDir()
	e := event(1, "A", day, false)
	e.Details = map[string]any{"field": strings.Repeat("x", 17<<10)}
	l.add(e)
	f := filer(t, l, folder)
	filed, err := f.File(t.Context(), day)
	if err != nil {
		t.Fatal(err)
	}
	a := opened(t, f)
	_, _, err = a.Events(t.Context(), store.EventFilter{}, sqldb.Page{Limit: 10})
	if err := errors.Join(err, a.Close()); !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), filed.Name) || !strings.Contains(err.Error(), "the limit is 16384") {
		t.Errorf("%v", err)
	}
	text, err := json.Marshal(strings.Repeat("x", 5<<20))
	if err := errors.Join(err, os.WriteFile(filepath.Join(folder, strings.TrimSuffix(filed.Name, ".parquet")+".json"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := opened(t, f).Events(t.Context(), store.EventFilter{}, sqldb.Page{Limit: 10}); !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("%v", err)
	}
}

// A file of a day that is a FIFO, a device, a folder or a link out of the folder is refused by
// its name. Opening a FIFO would block until a writer opens it.
func TestIrregularFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"FIFO":           {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file (mode prw-------)"},
		"link to device": {func(path string) error { return os.Symlink("/dev/zero", path) }, "is a symbolic link that leads out of the folder"},
		"link to a file": {func(path string) error { return os.Symlink("/etc/hostname", path) }, "is a symbolic link that leads out of the folder"},
		"folder":         {func(path string) error { return os.Mkdir(path, 0o700) }, "is not a regular file (mode drwx------)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ext := range []string{".parquet", ".json"} {
				folder := t.TempDir()
				plant(t, folder, 1, []byte("x"))
				path := filepath.Join(folder, "events-2026-02-05.v1"+ext)
				if err := errors.Join(os.Remove(path), c.put(path)); err != nil {
					t.Fatal(err)
				}
				opened := make(chan error, 1)
				go func() {
					place, err := archive.OpenFolder(folder, false)
					if err == nil {
						var file archive.File
						if file, err = place.Open(context.Background(), filepath.Base(path), 1<<20); err == nil {
							_ = file.Close()
						}
					}
					opened <- err
				}()
				select {
				case err := <-opened:
					if !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), path+" "+c.want) {
						t.Errorf("%s: %v", ext, err)
					}
				case <-time.After(10 * time.Second):
					t.Errorf("%s: opening it has not ended", ext)
				}
			}
		})
	}
}

// A link to another file of the folder is followed.
func TestLinkInFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	plant(t, folder, 1, []byte("text"))
	place, err := archive.OpenFolder(folder, false)
	if err := errors.Join(err, os.Symlink("events-2026-02-05.v1.parquet", filepath.Join(folder, "link"))); err != nil {
		t.Fatal(err)
	}
	file, err := place.Open(t.Context(), "link", 4)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil || string(text) != "text" {
		t.Errorf("%q: %v", text, err)
	}
}

// A manifest that gives another number of rows than its file has is refused, with both numbers.
func TestRowsOfTheManifest(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 1, 3} {
		folder := t.TempDir()
		l := &ledger{}
		l.add(event(1, "A", day, true))
		l.add(event(2, "A", day, true))
		f := filer(t, l, folder)
		filed, err := f.File(t.Context(), day)
		if err != nil {
			t.Fatal(err)
		}
		manifest := filepath.Join(folder, strings.TrimSuffix(filed.Name, ".parquet")+".json")
		text, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		changed := regexp.MustCompile(`"rows": ?2`).ReplaceAll(text, fmt.Appendf(nil, `"rows":%d`, rows))
		if bytes.Equal(changed, text) {
			t.Fatalf("the manifest has no rows: %s", text)
		}
		if err := os.WriteFile(manifest, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("it has 2 rows, and the manifest says %d", rows)
		list, _, err := opened(t, f).Events(t.Context(), store.EventFilter{}, sqldb.Page{Limit: 10})
		if !errors.Is(err, archive.ErrChecksum) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: %v, %v", rows, list, err)
		}
	}
}
