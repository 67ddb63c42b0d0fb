package client

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lines returns n numbered lines.
func lines(from, n int) []byte {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, "{\"n\":%d}\n", from+i)
	}
	return b
}

// reopen returns what a new process finds in a folder, and leaves it as it was.
func reopen(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	s, err := openSpool(dir, 1<<20, func(seg *segment, data []byte) {
		seg.live++ // keep the file
		for _, line := range records(data) {
			found = append(found, string(line))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	return found
}

func open(t *testing.T, dir string, limit int64) *spool {
	t.Helper()
	s, err := openSpool(dir, limit, func(*segment, []byte) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// texts are lines without their breaks.
func texts(b []byte) []string { return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") }

// A crash in the middle of a write loses at most the record that was being
// written, wherever it tears it.
func TestTornRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	if _, err := s.append(lines(0, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.append(lines(3, 1)); err != nil {
		t.Fatal(err)
	}
	path := s.active.path
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := len(frame(lines(0, 3)))
	for size := last; size <= len(whole); size++ {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		want := 3
		if size >= len(whole)-1 { // all but the line break
			want = 4
		}
		if got := reopen(t, dir); !slices.Equal(got, texts(lines(0, want))) {
			t.Errorf("torn after %d of %d bytes: found %q", size-last, len(whole)-last, got)
		}
	}
}

// A damaged byte costs the record that it is in, or at a line break the two
// around it, and no other.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	if _, err := s.append(lines(0, 4)); err != nil {
		t.Fatal(err)
	}
	path := s.active.path
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x11
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got := reopen(t, dir)
		least := 3
		if whole[at] == '\n' {
			least = 2
		}
		if len(got) < least {
			t.Errorf("byte %d: found %q", at, got)
		}
		for _, line := range got {
			if !slices.Contains(texts(lines(0, 4)), line) {
				t.Errorf("byte %d: found %q, which was never written", at, line)
			}
		}
	}
}

// What was written can be read, across segments, until it is released; then
// nothing of it is left.
func TestSegments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1000)
	var extents []extent
	for i := range 10 {
		at, err := s.append(lines(10*i, 4))
		if err != nil {
			t.Fatal(err)
		}
		extents = append(extents, at)
	}
	if files := segments(t, dir); len(files) < 3 {
		t.Errorf("all is in %v", files)
	}
	for i, at := range extents {
		if got, err := s.read(at); err != nil || !bytes.Equal(got, lines(10*i, 4)) {
			t.Errorf("read %q, %v", got, err)
		}
	}
	for _, at := range extents {
		s.release(at.segment)
	}
	if s.size != 0 || len(segments(t, dir)) != 1 {
		t.Errorf("%d bytes are left in %v", s.size, segments(t, dir))
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if files := segments(t, dir); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A segment whose number nobody counts to does not make numbers negative, nor segments that
// sort before older ones.
func TestPlantedSegment(t *testing.T) {
	t.Parallel()
	for _, planted := range []string{"9223372036854775807", "9223372036854775806", "99999999999999999999", "999999999999"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, planted+segmentSuffix), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, 1<<20)
		for i := range 2 {
			if _, err := s.append(lines(i, 1)); err != nil {
				t.Fatal(err)
			}
			if err := s.rotate(); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"000000000000", "000000000001"} {
			if files := segments(t, dir); len(files) < 2 || filepath.Base(files[i]) != want+segmentSuffix {
				t.Errorf("%s: segments %v, want %s", planted, files, want)
			}
		}
	}
}

// The spool takes no more than its bound, and goes on when there is room again.
func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 400)
	var extents []extent
	for {
		at, err := s.append(lines(0, 2))
		if errors.Is(err, errSpoolFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		extents = append(extents, at)
	}
	if s.size > 400 || len(extents) < 5 {
		t.Errorf("%d bytes in %d runs", s.size, len(extents))
	}
	for _, at := range extents {
		s.release(at.segment)
	}
	if _, err := s.append(lines(0, 2)); err != nil {
		t.Errorf("there is room, and got %v", err)
	}
}

// A folder has one owner, and its files are the owner's alone.
func TestSpoolIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]*", "spool")
	s := open(t, dir, 1<<20)
	if _, err := s.append(lines(0, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := openSpool(dir, 1<<20, nil); err == nil || !strings.Contains(err.Error(), "another emitter") {
		t.Errorf("a second owner got %v", err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, s.active.path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if got := reopen(t, dir); len(got) != 1 {
		t.Errorf("found %q", got)
	}
}

// A write that fails leaves no half record, and the next goes elsewhere.
func TestSpoolSurvivesAFailedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	if _, err := s.append(lines(0, 2)); err != nil {
		t.Fatal(err)
	}
	if err := s.file.Close(); err != nil { // as if the disk were gone
		t.Fatal(err)
	}
	if _, err := s.append(lines(2, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := s.append(lines(3, 1)); err != nil {
		t.Errorf("got %v", err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if got := reopen(t, dir); !slices.Equal(got, append(texts(lines(0, 2)), texts(lines(3, 1))...)) {
		t.Errorf("found %q", got)
	}
}

// FuzzRecords reads what no spool has written: no panic, no line that its
// checksum does not vouch for, offsets in order.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame(lines(0, 3)))
	f.Add([]byte("00000000 \n\n0000000g x\n" + string(frame(lines(7, 1)))))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := int64(0)
		var again []byte
		for end, line := range records(data) {
			if end <= last || end > int64(len(data)) || len(line) == 0 || bytes.ContainsRune(line, '\n') {
				t.Fatalf("a record ends at %d after %d: %q", end, last, line)
			}
			last = end
			again = append(append(again, line...), '\n')
		}
		n := 0
		for range records(frame(again)) {
			n++
		}
		if n != bytes.Count(again, []byte{'\n'}) {
			t.Fatalf("%d records of %q", n, again)
		}
	})
}
