package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func busURL(s string) bool {
	return strings.HasPrefix(s, "nats://") || strings.HasPrefix(s, "tls://")
}

func readBus(o *Options, s string) error {
	o.Bus.URL = s
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if u, err := url.Parse(part); s != "" && (err != nil || u.Host == "" || !busURL(part)) {
			return errors.New("must be nats://HOST:PORT or tls://HOST:PORT, several with commas between them; a user and a password may be before HOST, as in nats://USER:PASSWORD@HOST, with % codes for characters such as a comma (%2C)")
		}
	}
	return nil
}

func readBusSingle(o *Options, s string) error { return config.Bool(&o.Bus.Single, s) }

func readBusLimit(o *Options, s string) error {
	for suffix, unit := range map[string]int64{"MB": 1e6, "GB": 1e9, "TB": 1e12} {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			if n, err := strconv.ParseInt(number, 10, 32); err == nil && n > 0 {
				o.Bus.MaxBytes = n * unit
				return nil
			}
		}
	}
	return errors.New("must be a size such as 500MB or 8GB")
}

func readBusMonitors(o *Options, s string) error {
	o.Bus.Monitors = nil
	for part := range strings.SplitSeq(s, ",") {
		if s == "" {
			return nil
		}
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("must be http://HOST:PORT, several with commas between them")
		}
		o.Bus.Monitors = append(o.Bus.Monitors, u.String())
	}
	return nil
}

// errBusNeedsPostgres is returned for a bus beside a file, which one node alone writes.
var errBusNeedsPostgres = errors.New("--bus needs PostgreSQL: with SQLite one node alone writes, and a bus in front of it would be one more place to fail; leave --bus out, or set --database postgres://…")

func validateBus(o *Options) error {
	kind, _, _ := splitDatabase(o.Database)
	switch {
	case o.Bus.URL == "":
		return busMissing(&o.Bus)
	case kind == "sqlite":
		return errBusNeedsPostgres
	case (o.Bus.Cert == "") != (o.Bus.Key == ""):
		return errors.New("--bus-cert and --bus-key go together: give both or none")
	case o.Bus.Credentials != "" && strings.Contains(o.Bus.URL, "@"):
		return errors.New("--bus-credentials and a user in --bus: give one of them")
	}
	return o.Bus.CheckFiles()
}

// busMissing says which options there are of a bus that there is not.
func busMissing(o *bus.Options) error {
	var alone []string
	for flag, value := range map[string]string{"--bus-credentials": o.Credentials, "--bus-ca": o.CA, "--bus-cert": o.Cert, "--bus-key": o.Key} {
		if value != "" {
			alone = append(alone, flag)
		}
	}
	if len(alone) == 0 {
		return nil
	}
	slices.Sort(alone)
	return fmt.Errorf("%s without --bus: set --bus nats://HOST:PORT too, or leave them out", strings.Join(alone, ", "))
}

// openBus connects to the bus, if there is one.
func (n *Node) openBus(ctx context.Context) (err error) {
	if n.o.Bus.URL == "" {
		return nil
	}
	batches, can := n.store.(store.EventBatchWriter)
	if !can {
		return errBusNeedsPostgres
	}
	o := n.o.Bus
	o.Name, o.Logger = n.o.Node, n.o.Logger
	if n.bus, err = bus.Open(ctx, o); err != nil {
		return err
	}
	n.consumer = &bus.Consumer{Bus: n.bus, Store: batches, Now: n.o.Now, Random: jitter, Logger: n.o.Logger}
	return nil
}

// How gaps are looked at.
const (
	gapAge  = time.Hour // younger ones may be batches that are just being written
	maxGaps = 100
)

// busAdmin implements the bus calls of the API.
type busAdmin struct{ *Node }

// theBus is nil where there is none.
func (n *Node) theBus() api.Bus {
	if n.bus == nil {
		return nil
	}
	return busAdmin{n}
}

// Up reports whether the bus takes events.
func (d busAdmin) Up() bool { return d.bus.Up() }

// Status says how the bus does.
func (d busAdmin) Status(ctx context.Context) (wire.Bus, error) {
	s, err := d.bus.Status(ctx)
	if err != nil {
		s.Up, s.Cause = false, bus.ErrAway.Error()
	}
	wrote, read := d.ledger.Stats(), d.consumer.Stats()
	s.Node = wire.BusNode{Published: wrote.Published, Direct: wrote.Direct, Written: read.Written, Duplicates: read.Duplicates, Quarantined: read.Quarantined, Failures: read.Failures}
	gaps, err := d.consumer.Store.BusGaps(ctx, d.o.Now().Add(-gapAge), maxGaps)
	s.Gaps = append(s.Gaps, gaps...)
	return s, err
}

// FoldEventBatches joins what was written from the bus.
func (d busAdmin) FoldEventBatches(ctx context.Context, before time.Time, limit int) (int, error) {
	return d.consumer.Store.FoldEventBatches(ctx, before, limit)
}

// BusGaps lists gaps in what was written.
func (d busAdmin) BusGaps(ctx context.Context, before time.Time, limit int) ([]wire.BusGap, error) {
	return d.consumer.Store.BusGaps(ctx, before, limit)
}

// Quarantine says how much is in quarantine, and since when. A bus that is away is not
// asked: that it is, others tell.
func (d busAdmin) Quarantine(ctx context.Context, limit int) (store.Overdue, error) {
	list, err := d.bus.ListQuarantine(ctx, 0, limit)
	if errors.Is(err, bus.ErrAway) || len(list) == 0 {
		return store.Overdue{}, nil
	}
	return store.Overdue{N: len(list), Since: list[0].At}, err
}

// Quarantined lists batches in quarantine.
func (d busAdmin) Quarantined(ctx context.Context, after int64, limit int) ([]wire.QuarantinedBatch, error) {
	found, err := d.bus.ListQuarantine(ctx, after, limit)
	list := make([]wire.QuarantinedBatch, len(found))
	for i := range found {
		list[i] = found[i].QuarantinedBatch
	}
	return list, busFailure(err)
}

// Retry writes a batch in quarantine to the ledger. What it is was written down before.
func (d busAdmin) Retry(ctx context.Context, number int64, note func(wire.QuarantinedBatch) error) (wire.QuarantinedBatch, error) {
	found, err := d.bus.FindQuarantined(ctx, number)
	if err != nil {
		return found.QuarantinedBatch, busFailure(err)
	}
	if found.Err != nil {
		return found.QuarantinedBatch, fault.Wrap(found.Err, fault.CodeConflict, "The batch cannot be read, so it cannot be retried: drop it.")
	}
	if err := d.ledger.Inspect(d.o.Now(), found.Batch.Events); err != nil {
		return found.QuarantinedBatch, fault.Wrap(err, fault.CodeConflict, "The batch holds what no node of Recoup lets pass, so it cannot be retried: find out who published it, and drop it.")
	}
	if err := note(found.QuarantinedBatch); err != nil {
		return found.QuarantinedBatch, err
	}
	if _, err := d.consumer.Store.WriteEventBatches(ctx, found.Stream, []store.EventBatch{found.Batch}); err != nil {
		if errors.Is(err, store.ErrRefused) {
			return found.QuarantinedBatch, fault.Wrap(err, fault.CodeConflict, "The database refuses the batch still: mend what it refuses, or drop the batch.")
		}
		return found.QuarantinedBatch, err
	}
	return found.QuarantinedBatch, busFailure(d.bus.Release(ctx, number))
}

// Drop deletes a batch in quarantine. Its events are counted among those left out.
func (d busAdmin) Drop(ctx context.Context, number int64, note func(wire.QuarantinedBatch) error) (wire.QuarantinedBatch, error) {
	found, err := d.bus.FindQuarantined(ctx, number)
	if err != nil {
		return found.QuarantinedBatch, busFailure(err)
	}
	if err := note(found.QuarantinedBatch); err != nil {
		return found.QuarantinedBatch, err
	}
	if err := d.bus.Release(ctx, number); err != nil {
		return found.QuarantinedBatch, busFailure(err)
	}
	d.ledger.CountDropped(d.o.Now(), ledger.DropQuarantine, int64(max(found.Events, 1)))
	return found.QuarantinedBatch, nil
}

func busFailure(err error) error {
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return fault.Wrap(err, fault.CodeNotFound, "There is no such batch in quarantine.")
	case errors.Is(err, bus.ErrAway), errors.Is(err, bus.ErrUnfit):
		return fault.Wrap(err, fault.CodeTemporaryUnavailable, "The bus cannot be reached.").After(5 * time.Second)
	case err != nil:
		return fmt.Errorf("bus: %w", err)
	}
	return nil
}
