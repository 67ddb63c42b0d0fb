package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// archivedEvents lists the files of a place as a server lists its ledger.
type archivedEvents struct {
	*archive.Archive
	filter store.EventFilter
}

// open opens the files of a place.
func open(ctx context.Context, address string, now func() time.Time, f recoup.EventFilter) (slice.EventPages, error) {
	if f.Tenant != "" {
		return nil, command.Usagef("--tenant cannot be used with --from-archive: the files have hashes of tenants, and the server alone has the keys")
	}
	filter := store.EventFilter{Correlation: f.CorrelationID, Service: f.Service, From: f.From, To: f.To}
	if f.Code != "" {
		_, name, err := fault.Default().Fold(f.Code)
		if err != nil {
			return nil, command.Usagef("--code %q: %w", f.Code, err)
		}
		filter.Code = name
	}
	place, err := archive.OpenPlace(archive.PlaceOptions{Address: address, Getenv: os.Getenv, Now: now})
	if err != nil {
		return nil, err
	}
	a, err := archive.OpenArchive(ctx, place)
	if err != nil {
		return nil, err
	}
	return (&archivedEvents{a, filter}).page, nil
}

// page reads a page. Its cursor is the time and the id of the last event.
func (a *archivedEvents) page(ctx context.Context, cursor string, limit int) ([]recoup.StoredEvent, string, error) {
	at, err := readCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	list, next, err := a.Events(ctx, a.filter, sqldb.Page{Cursor: at, Limit: limit})
	if err != nil || next.IsZero() {
		return list, "", errors.Join(err, a.Close()) // it was the last page
	}
	return list, next.At.UTC().Format(time.RFC3339Nano) + "_" + next.ID.String(), nil
}

func readCursor(given string) (c sqldb.Cursor, err error) {
	if given == "" {
		return c, nil
	}
	at, id, _ := strings.Cut(given, "_")
	if c.At, err = time.Parse(time.RFC3339Nano, at); err == nil {
		c.ID, err = recoup.ParseID(id)
	}
	if err != nil {
		return c, command.Usagef("--cursor %q is not one of --from-archive: expected next of the page before", given)
	}
	return c, nil
}
