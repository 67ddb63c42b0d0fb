package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Migration is one version of a store's schema: a file that is named after its number
// and its subject. From the release that ships it on, its text never changes.
type Migration struct {
	Version   int64     `json:"version"`
	Name      string    `json:"name"`
	AppliedAt time.Time `json:"applied_at,omitzero"` // zero: not yet
	Sum       string    `json:"-"`                   // SHA-256 of its text, in hex
	Needs     int64     `json:"-"`                   // the last migration that a binary must know to work beside it; zero: this one
}

// Migrations are those of a schema in their order.
type Migrations []Migration

// ReadMigrations reads the migrations that a binary carries.
func ReadMigrations(files fs.FS) (Migrations, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	list := make(Migrations, 0, len(names))
	for _, file := range names {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		number, name, _ := strings.Cut(strings.TrimSuffix(file, ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		list = append(list, Migration{Version: version, Name: name, Sum: hex.EncodeToString(sum[:])})
	}
	slices.SortFunc(list, func(a, b Migration) int { return int(a.Version - b.Version) })
	return list, nil
}

// Schema is the migrations of a store, in the folder of that name, and the statement by
// which each records itself, as [Migrations.Recording] has it.
type Schema struct {
	Folder fs.FS
	Record string
}

// Load returns the migrations, and the files to apply.
func (s Schema) Load() (Migrations, fs.FS, error) {
	files, err := fs.Sub(s.Folder, "migrations")
	if err != nil {
		return nil, nil, err
	}
	list, err := ReadMigrations(files)
	return list, list.Recording(files, s.Record), err
}

// Status returns the migrations as [Migrations.With] does.
func (s Schema) Status(applied []Migration, err error) (Migrations, error) {
	if err != nil {
		return nil, err
	}
	list, _, err := s.Load()
	if err != nil {
		return nil, err
	}
	return list.With(applied)
}

// ScanMigrations reads what was applied, version, time and checksum, and closes it.
func ScanMigrations(rows *sql.Rows) (list []Migration, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m Migration
		if err := rows.Scan(&m.Version, &m.AppliedAt, &m.Sum); err != nil {
			return nil, err
		}
		m.AppliedAt = m.AppliedAt.UTC()
		list = append(list, m)
	}
	return list, rows.Err()
}

// Latest is the version that all migrations together lead to.
func (m Migrations) Latest() int64 { return m[len(m)-1].Version }

// With returns the migrations with the times at which they were applied, and why a binary
// must leave the database alone, if it must: a newer binary has migrated it
// ([ErrSchemaNewer]), or a migration that it was made by is none of these
// ([ErrSchemaForeign]).
func (m Migrations) With(applied []Migration) (Migrations, error) {
	list := slices.Clone(m)
	for _, a := range applied {
		i := slices.IndexFunc(list, func(known Migration) bool { return known.Version == a.Version })
		switch {
		case a.Version > m.Latest():
			return list, fmt.Errorf("%w: it is at version %d, this binary knows %d: upgrade the binary", ErrSchemaNewer, a.Version, m.Latest())
		case i < 0 || a.Sum != list[i].Sum:
			return list, fmt.Errorf("%w: its migration %03d is not the one that this binary has. Nothing was changed. "+
				"Go on with the build that made it, or start this binary on an empty database", ErrSchemaForeign, a.Version)
		}
		list[i].AppliedAt = a.AppliedAt
	}
	return list, nil
}

// Beside returns what was applied without what a newer binary has added that this one can
// work beside: nodes of two versions share a database while one replaces the other.
func (m Migrations) Beside(applied []Migration) []Migration {
	return slices.DeleteFunc(slices.Clone(applied), func(a Migration) bool {
		return a.Version > m.Latest() && a.Needs > 0 && a.Needs <= m.Latest()
	})
}

// Recording returns the files, each with a statement at its end that records what was
// applied, in the same transaction. The statement has a verb of fmt for the version
// and one for the checksum.
func (m Migrations) Recording(files fs.FS, statement string) fs.FS {
	return recording{files, m, statement}
}

type recording struct {
	fs.FS
	list      Migrations
	statement string
}

func (r recording) Open(name string) (fs.File, error) {
	file, err := r.FS.Open(name)
	if err != nil {
		return nil, err
	}
	for _, m := range r.list {
		if name == fmt.Sprintf("%03d_%s.sql", m.Version, m.Name) {
			end := strings.NewReader("\n" + fmt.Sprintf(r.statement, m.Version, m.Sum) + "\n")
			return recordingFile{file, io.MultiReader(file, end)}, nil
		}
	}
	return file, nil
}

type recordingFile struct {
	fs.File
	text io.Reader
}

func (f recordingFile) Read(p []byte) (int, error) { return f.text.Read(p) }
