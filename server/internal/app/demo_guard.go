package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// demoActor is who puts the first policy into a database that a demo makes. That
// row is never changed, so it says for good whose the database is.
const demoActor = "demo"

// ErrNotDemo is returned for a database that a demo must not touch: without keys,
// whoever reaches the demo could change what is in it.
var ErrNotDemo = errors.New("was not made by a demo, which would let everybody on this machine change it without a key: " +
	"name a new file, as in --database sqlite:demo.db, or run recoup serve")

// CheckDemo refuses a database that no demo has made, and reports whether it is empty.
// It changes nothing there.
func CheckDemo(ctx context.Context, address string) (empty bool, err error) {
	kind, rest, err := splitDatabase(address)
	if err != nil {
		return false, err
	}
	if kind == "sqlite" {
		if info, err := os.Stat(rest); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
			return true, nil
		}
	}
	list, err := MigrationStatus(ctx, address, "")
	if err != nil {
		return false, err
	}
	applied := 0
	for _, m := range list {
		if !m.AppliedAt.IsZero() {
			applied++
		}
	}
	if applied == 0 && kind == "postgres" {
		return true, nil // the demo makes it its own
	}
	if applied == len(list) {
		own, err := madeByDemo(ctx, address)
		if own || err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("%s %w", config.MaskURL(address), ErrNotDemo)
}

// madeByDemo reports who put the first policy into a database that is up to date.
func madeByDemo(ctx context.Context, address string) (own bool, err error) {
	s, err := OpenStore(ctx, address, slog.New(slog.DiscardHandler))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var first []wire.PolicyVersion
	first, _, err = s.PolicyVersions(ctx, 2, 1)
	return len(first) == 1 && first[0].By == demoActor, err
}
