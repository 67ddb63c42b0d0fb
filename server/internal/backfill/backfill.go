// Package backfill records failures that a file knows: history from elsewhere, with
// its own times. It reads rows, says of each what became of it, and leaves every
// decision to the engine.
package backfill

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
)

// Importer records failures of earlier times, or says what would become of them.
type Importer func(context.Context, engine.Caller, []engine.Past) ([]engine.Reported, error)

// Sum is what became of rows.
type Sum struct {
	Recorded   int // errors that are new, wherever they are now
	Superseded int // errors that another report of the same failure has replaced, or did from the beginning
	Expired    int // of the recorded, those that went straight to the archive because of their age
	Orphaned   int // of the recorded, those whose table or entity the policy does not know
	Repeated   int // rows that were imported before
	Refused    []Row
}

// Import records rows, in batches that stand or fall together, each row answered for
// itself. An error is one of the whole: what was recorded before it stays, and is
// recognised when the rows come again.
func Import(ctx context.Context, do Importer, c engine.Caller, rows []Row) (Sum, error) {
	var sum Sum
	for part := range slices.Chunk(rows, engine.MaxBatch) {
		var past []engine.Past
		var places []int
		for i := range part {
			if part[i].Err != nil {
				sum.Refused = append(sum.Refused, part[i])
				continue
			}
			past, places = append(past, part[i].Past), append(places, i)
		}
		out, err := do(ctx, c, past)
		if err != nil {
			return sum, err
		}
		for i := range out {
			sum.add(part[places[i]], &out[i])
		}
	}
	slices.SortFunc(sum.Refused, func(a, b Row) int { return a.Line - b.Line })
	return sum, nil
}

func (s *Sum) add(row Row, out *engine.Reported) {
	switch e := &out.Error; {
	case out.Err != nil:
		row.Err = out.Err
		s.Refused = append(s.Refused, row)
	case out.Repeated:
		s.Repeated++
	default:
		s.Recorded++
		if !out.Superseded.IsZero() || e.ArchiveReason == recoup.SupersededByNext {
			s.Superseded++
		}
		if e.ArchiveReason == recoup.TTLExpired {
			s.Expired++
		}
		if e.ReportedTable != "" {
			s.Orphaned++
		}
	}
}
