// Package module registers event files.
package module

import (
	"context"
	"os"
	"time"

	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/archive/cli"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// Slice is event files: days of the ledger, written to files before they are dropped.
func Slice() slice.Slice {
	return slice.Slice{Name: "archive", Commands: cli.Commands, Events: cli.Events(), Settings: archive.Settings(), Open: open}
}

// open turns filing on or off, as the setting event-files says. A standby leaves it to the nodes of
// the original.
func open(ctx context.Context, core slice.Core) (r slice.Running, err error) {
	if core.Standby {
		return r, nil
	}
	filing, err := archive.OpenFiling(ctx, archive.FilingOptions{
		Address: core.Settings.Get("event-files"), Store: core.Files, Getenv: os.Getenv, Now: core.Now, Logger: core.Logger,
		Retention: func() time.Duration { return core.Policy().Ledger.EventRetention },
	})
	if err == nil && filing != nil {
		r.Jobs, r.Background = filing.Jobs(), []func(context.Context){filing.Run}
	}
	return r, err
}
