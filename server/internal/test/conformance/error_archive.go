package conformance

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func archives() []clause {
	return []clause{
		{"an archive keeps its errors as long as its policy says, and not a moment longer", retention},
		{"what is over is deleted in batches of at most the limit, oldest first", purgeBatches},
		{"only the archive is purged", purgeOnlyArchive},
		{"the history of an archived error is whole as long as the error is there", historyKept},
		{"the history of an error outlives it, but not for ever", historyOutlives},
	}
}

func (d *Driver) purge(limit int) int {
	d.Helper()
	n, err := d.Store.PurgeArchive(d.Context(), d.Now(), limit)
	if err != nil {
		d.Fatalf("purge: %v", err)
	}
	return n
}

// forget drops an error that was purged from what the store is held to.
func (d *Driver) forget(id recoup.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.book.errors, id)
}

func retention(d *Driver) {
	// Spec 000, 7.2: a year, but two for the error log.
	for _, row := range []struct {
		table string
		keep  time.Duration
	}{{dol, 365 * day}, {target, 365 * day}, {people, 365 * day}, {discovery, 365 * day}, {orphans, 365 * day}, {errorLog, 730 * day}} {
		e := d.Archive(d.Report(row.table, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID)
		archivedAt := d.Now()
		d.WaitUntil(archivedAt.Add(row.keep - time.Microsecond))
		if n := d.purge(10); n != 0 {
			d.Errorf("%s: purged %d before its time", row.table, n)
		}
		if diff := difference(d.Read(e.ID), e); diff != "" {
			d.Errorf("%s: the archive did not keep it as it was:%s", row.table, diff)
		}
		d.Wait(time.Microsecond)
		if n := d.purge(10); n != 1 {
			d.Errorf("%s: purged %d, want 1", row.table, n)
		}
		if _, err := d.Store.Error(d.Context(), e.ID); !errors.Is(err, sqldb.ErrNotFound) {
			d.Errorf("%s: a purged error is answered with %v", row.table, err)
		}
		if out := d.Try(e.ID, lifecycle.Resolve{By: "ada"}); !errors.Is(out.Err, sqldb.ErrNotFound) {
			d.Errorf("%s: an act on a purged error is answered with %v", row.table, out.Err)
		}
		d.forget(e.ID)
		d.Check()
	}
}

func purgeBatches(d *Driver) {
	list := d.each(10)
	for _, e := range list {
		d.Archive(e.ID)
		d.Wait(time.Second)
	}
	d.Wait(366 * day)
	for _, want := range []int{4, 4, 2, 0} {
		if n := d.purge(4); n != want {
			d.Errorf("purged %d, want %d", n, want)
		}
		for _, e := range list[:want] {
			d.forget(e.ID)
		}
		list = list[want:]
		d.checkNothingElse()
	}
}

func purgeOnlyArchive(d *Driver) {
	d.Report(dol, "open", "NETWORK_TIMEOUT", recoup.Medium)
	d.Resolve(d.Report(dol, "resolved", "NETWORK_TIMEOUT", recoup.Medium).ID)
	d.Report(masterLog, "kept", "NETWORK_TIMEOUT", recoup.Medium)
	d.Wait(700 * day)
	if n := d.purge(10); n != 0 {
		d.Errorf("purged %d of a table", n)
	}
	d.Check()
}

func historyKept(d *Driver) {
	e := d.Report(errorLog, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.WaitUntil(e.ExpiresAt)
	e = d.Apply(e.ID, lifecycle.Expire{})
	for d.Now().Before(e.PurgeAt.Add(-31 * day)) {
		d.Wait(30 * day)
	}
	d.wantHistory(e.ID, "report", "expire")
	d.Check()
}

func historyOutlives(d *Driver) {
	e := d.Archive(retrying(d).ID)
	d.Wait(400 * day)
	if n := d.purge(10); n != 1 {
		d.Fatalf("purged %d, want 1", n)
	}
	d.wantHistory(e.ID, "report", "archive")
	d.WaitUntil(e.ArchivedAt.Add(3 * 365 * day))
	d.wantHistory(e.ID)
}
