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

	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
)

// Template is a file that is made once and copied for every test.
type Template func() ([]byte, error)

// NewTemplate is the file that make leaves at a path.
func NewTemplate(make func(ctx context.Context, path string) error) Template {
	return sync.OnceValues(func() (file []byte, err error) {
		folder, err := os.MkdirTemp("", "recoup-template-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		path := filepath.Join(folder, "recoup.db")
		if err := make(context.Background(), path); err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	})
}

// Copy puts the file into a folder, and returns its path.
func (m Template) Copy(t testing.TB, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "recoup.db")
	file, err := m()
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// empty is a file whose schema is up to date.
var empty = NewTemplate(func(ctx context.Context, path string) error {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	return s.Close()
})

// File puts a migrated file into a folder, and returns its path.
func File(t testing.TB, folder string) string {
	t.Helper()
	return empty.Copy(t, folder)
}

// Open opens a fresh store, which is closed with the test.
func Open(t testing.TB) *sqlite.Store {
	t.Helper()
	return OpenFile(t, File(t, t.TempDir()))
}

// OpenFile opens a store, which is closed with the test.
func OpenFile(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
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
