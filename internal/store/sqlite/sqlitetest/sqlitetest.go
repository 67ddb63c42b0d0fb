// Package sqlitetest gives each test a migrated SQLite file of its own. Making one
// takes long, so it is made once and copied.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"recoup/internal/store/sqlite"
)

// template is an empty file whose schema is up to date.
var template = sync.OnceValues(func() (file []byte, err error) {
	folder, err := os.MkdirTemp("", "recoup-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "recoup.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// File puts a migrated file into a folder, and returns its path.
func File(t testing.TB, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "recoup.db")
	empty, err := template()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Open opens a fresh store, which is closed with the test.
func Open(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), File(t, t.TempDir()), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
