package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	// inspectPatience is how long a question of an inspection may run.
	inspectPatience = 5 * time.Second

	// checkedBytes is how large a file may be to be checked page by page.
	checkedBytes = 256 << 20
)

// look is one question of an inspection.
type look struct {
	what string
	ask  func(ctx context.Context, s *Store, i store.Inspection, f *store.Facts) error
}

// Inspect implements [store.Inspector].
func (s *Store) Inspect(ctx context.Context, i store.Inspection) (store.Facts, error) {
	i.Sample = cmp.Or(i.Sample, store.DefaultSample)
	f := store.Facts{Kind: "sqlite", Clock: i.Now, File: &store.FileFacts{Path: s.file}}
	looks := []look{
		{"the file", readFile}, {store.FactSchema, readSchema}, {"names of the policy", readNames}, {"keys", readPlatformKeys}, {store.FactBackups, readBackups},
	}
	for _, rule := range rowRules {
		looks = append(looks, look{rule.name, rule.read})
	}
	for _, l := range looks {
		if err := s.look(ctx, l, i, &f); err != nil {
			return f, err
		}
	}
	return f, s.readService(ctx, &f)
}

// look asks a question. One that takes too long is noted.
func (s *Store) look(ctx context.Context, l look, i store.Inspection, f *store.Facts) error {
	within, cancel := context.WithTimeout(ctx, inspectPatience)
	defer cancel()
	err := l.ask(within, s, i, f)
	switch {
	case err == nil:
	case ctx.Err() == nil && within.Err() != nil:
		f.Unseen = append(f.Unseen, store.Unseen{What: l.what, Why: "it took longer than " + inspectPatience.String()})
	case missing(err): // from a schema that somebody has taken apart, which is found as such
		f.Unseen = append(f.Unseen, store.Unseen{What: l.what, Why: "something that it needs is missing from the schema"})
	default:
		return translate(err)
	}
	return nil
}

// readService reads what the service keeps, by its own verbs.
func (s *Store) readService(ctx context.Context, f *store.Facts) (err error) {
	if f.Outbox, err = s.OutboxLevels(ctx); err != nil {
		return err
	}
	f.Keys, _, err = s.Keys(ctx, sqldb.Page{Limit: sqldb.MaxPage})
	return err
}

// readFile looks at the file and the room that it has.
func readFile(ctx context.Context, s *Store, _ store.Inspection, f *store.Facts) error {
	info, err := os.Stat(s.file)
	if err != nil {
		return err
	}
	f.File.Bytes, f.File.Shared = info.Size(), info.Mode().Perm()&0o077 != 0
	if log, err := os.Stat(s.file + "-wal"); err == nil {
		f.File.WALBytes = log.Size()
	}
	f.File.FreeBytes, f.File.TotalBytes = diskSpace(s.file)
	var first time.Time
	if err := s.read.QueryRowContext(ctx, `select tstamp from `+versionTable+` where version_id > 0 order by tstamp limit 1`).Scan(&first); err == nil {
		f.Since = first.UTC()
	}
	if f.File.Unchecked = f.File.Bytes > checkedBytes; f.File.Unchecked {
		return nil
	}
	var verdict string
	err = s.read.QueryRowContext(ctx, `pragma quick_check(1)`).Scan(&verdict)
	if err == nil && verdict != "ok" {
		f.File.Damage = verdict
	}
	return err
}

func readPlatformKeys(ctx context.Context, s *Store, _ store.Inspection, f *store.Facts) error {
	rows, err := s.read.QueryContext(ctx, `select key_id, purpose, coalesce(wrapped_by, '') from platform_key where deleted_at is null order by 1`)
	if err != nil {
		return err
	}
	f.PlatformKeys, err = collect(rows, func(k *store.PlatformKey) []any { return []any{&k.ID, &k.Purpose, &k.WrappedBy} })
	return err
}

// readBackups reads when the last backup was written down.
func readBackups(ctx context.Context, s *Store, _ store.Inspection, f *store.Facts) error {
	var at int64
	err := s.read.QueryRowContext(ctx, `select at from audit where act = ? order by at desc limit 1`, store.ActBackup).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	f.LastBackup = time.UnixMicro(at).UTC()
	return err
}

// Repair implements [store.SchemaRepairer]. A pragma is no part of a transaction.
func (s *Store) Repair(ctx context.Context, statements []string) error {
	for _, statement := range statements {
		run := func() error {
			return s.writer.do(ctx, func(tx *tx) error { return tx.define(statement) })
		}
		if strings.HasPrefix(statement, "pragma ") {
			run = func() error { return s.pragma(ctx, statement) }
		}
		if err := run(); err != nil {
			return translate(err)
		}
	}
	return nil
}

// pragma runs a pragma on a connection of its own.
func (s *Store) pragma(ctx context.Context, statement string) (err error) {
	db, err := file{path: s.file, busy: inspectPatience, driver: ownDriver}.open(1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}
