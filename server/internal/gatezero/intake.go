package gatezero

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Create takes in one candidate. With an id of the caller's it may be sent again:
// the same comes back as it is by then, and another under the same id is refused
// with CONFLICT. It joins a batch that exists, or none.
func (s *Service) Create(ctx context.Context, in recoup.Intake) (found Case, created bool, err error) {
	if err := s.open(); err != nil {
		return Case{}, false, err
	}
	if err := Check(&in); err != nil {
		return Case{}, false, err
	}
	if in.ID.IsZero() {
		in.ID = s.ids.New(s.now())
	}
	in.ImportKey = in.ID.String()
	done, err := s.store.ImportIntakes(ctx, in.BatchID, s.now(), []recoup.Intake{in})
	if err != nil {
		return Case{}, false, importFailure(err)
	}
	if found, err = s.store.Intake(ctx, in.ID); err != nil {
		return Case{}, false, err
	}
	if done.Added == 0 && !sameCandidate(found.Intake, in) {
		return Case{}, false, fault.New(fault.CodeConflict, "Another intake has this id.")
	}
	return found, done.Added == 1, nil
}

func sameCandidate(a, b recoup.Intake) bool {
	return a.BatchID == b.BatchID && a.CompanyName == b.CompanyName && a.Domain == b.Domain &&
		a.LinkedInURL == b.LinkedInURL && a.State == b.State
}

// Imported is what became of the rows of an import.
type Imported struct {
	ImportCount
	Refused []Row // in their order; Err says why
}

// Import adds rows to a batch, or to none, in one transaction. Rows that came with
// an error, or that are no candidates, are left out and returned; so a file may be
// corrected and imported again: what is there already is recognised by its key.
func (s *Service) Import(ctx context.Context, batch string, rows []Row) (Imported, error) {
	var out Imported
	if err := s.open(); err != nil {
		return out, err
	}
	if batch != "" {
		if err := CheckBatch(batch); err != nil {
			return out, err
		}
	}
	now := s.now()
	good := make([]*recoup.Intake, 0, len(rows))
	err := turn.Each(ctx, len(rows), func(i int) error {
		r := &rows[i]
		if r.Err == nil {
			r.Err = r.Identify()
		}
		if r.Err != nil {
			out.Refused = append(out.Refused, *r)
			return nil //nolint:nilerr // the row is refused, and the others go on
		}
		good = append(good, &r.Intake)
		return nil
	})
	if err != nil {
		return Imported{}, err
	}
	out.ImportCount, err = s.store.ImportIntakes(ctx, batch, now, s.inOrder(good, now))
	return out, importFailure(err)
}

// inOrder sorts what is imported by its keys and then gives it ids: both indexes
// are filled from left to right, which for a million rows is half the work. Of
// those with one key the first remains the first.
func (s *Service) inOrder(good []*recoup.Intake, now time.Time) []recoup.Intake {
	order := make([]int, len(good))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(strings.Compare(good[a].ImportKey, good[b].ImportKey), a-b) })
	list := make([]recoup.Intake, len(good))
	for i, at := range order {
		if list[i] = *good[at]; list[i].ID.IsZero() {
			list[i].ID = s.ids.New(now)
		}
	}
	return list
}

// Identify cleans a row and gives it the key by which it is recognised when it
// comes again: its own id or key, else what it says. So two rows that say the same
// are one, in whatever file and line they stand.
func (r *Row) Identify() error {
	i := &r.Intake
	if err := clean(i); err != nil {
		return err
	}
	switch {
	case !i.ID.IsZero() && i.ImportKey != "":
		return fault.BadField("import_key", "exclusive", "a row has an intake_id or an import_key, not both")
	case !i.ID.IsZero():
		i.ImportKey = i.ID.String()
	case i.ImportKey == "":
		i.ImportKey = fingerprint(i)
	}
	return nil
}

// fingerprint is a candidate in 128 bits.
func fingerprint(i *recoup.Intake) string {
	text := make([]byte, 0, 256)
	for _, s := range []string{i.CompanyName, i.Domain, i.LinkedInURL, i.State} {
		text = append(append(text, s...), 0)
	}
	sum := sha256.Sum256(text)
	return "=" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Row is one row of a file: a candidate, or what is wrong with it.
type Row struct {
	Line   int // where it begins, from 1
	Intake recoup.Intake
	Err    error
}

func badRow(line int, field, message string) Row {
	return Row{Line: line, Err: fault.BadField(field, "format", "%s", message)}
}

func parseRowID(row *Row, text string) {
	if text == "" {
		return
	}
	id, err := recoup.ParseID(text)
	if err != nil {
		*row = badRow(row.Line, "intake_id", "intake_id must be a UUID or a ULID")
		return
	}
	row.Intake.ID = id
}
