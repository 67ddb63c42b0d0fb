package adoption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The places beside an error that have something encrypted.
const (
	columnsPlace = "/columns"
	rowPlace     = "/row"
)

// maxReason is how long the reason for a look may be.
const maxReason = 2000

// rules are what the policy in force says of the rows of an adoption. What their owner has
// not agreed to, the source does not give.
func (s *Service) rules(a *Target) wire.SourceRules {
	t, ok := s.Engine.Policies.Current().Table(a.Table)
	if !ok {
		return wire.SourceRules{}
	}
	return t.Source
}

// kept is what the error of a row keeps of it: details redacted, the rest encrypted.
func (s *Service) kept(id recoup.ID, r *SourceRow) (k Kept, err error) {
	if r == nil {
		return k, nil
	}
	if k.Details, err = s.details(r.Details); err != nil {
		return Kept{}, err
	}
	if r.Encrypted != nil {
		k.SealedBy, k.Sealed, err = s.Letters.Keys.EncryptBeside(id, columnsPlace, r.Encrypted)
	}
	return k, err
}

// details redacts columns, by their names too.
func (s *Service) details(columns []byte) ([]byte, error) {
	if columns == nil {
		return nil, nil
	}
	var values map[string]any
	decoder := json.NewDecoder(bytes.NewReader(columns))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("columns of a source row: %w", err)
	}
	clean, _ := s.Redactor.Value(values)
	return json.Marshal(clean)
}

// Source returns what an error keeps of its source row.
func (s *Service) Source(ctx context.Context, c engine.Caller, id recoup.ID) (recoup.ErrorSource, error) {
	d, err := s.detail(ctx, c, id)
	return recoup.ErrorSource{Details: d.Details, Encrypted: d.Sealed != nil, Moved: d.Moved != nil}, err
}

// detail is what is stored, if the caller may see the error; most errors keep nothing.
func (s *Service) detail(ctx context.Context, c engine.Caller, id recoup.ID) (SourceDetail, error) {
	if _, err := s.Engine.Error(ctx, c, id); err != nil {
		return SourceDetail{}, err
	}
	d, err := s.Store.SourceDetail(ctx, id)
	if errors.Is(err, sqldb.ErrNotFound) {
		return SourceDetail{}, nil
	}
	return d, err
}

// DecryptSource returns what of it is encrypted. The read is audited first; if that
// fails, so does the read.
func (s *Service) DecryptSource(ctx context.Context, c engine.Caller, id recoup.ID, reason string) (out wire.DecryptedSource, err error) {
	var f check.Fields
	reason = strings.TrimSpace(f.RequiredText("reason", reason, maxReason))
	if err := f.Err(); err != nil {
		return out, err
	}
	d, err := s.detail(ctx, c, id)
	if err != nil {
		return out, err
	}
	if err := s.Store.AppendAudit(ctx, c.Act(reason, s.Now()).On("error.source", id.String(), nil)); err != nil {
		return out, err
	}
	if d.Sealed != nil {
		if out.Columns, err = s.Letters.Keys.DecryptBeside(ctx, d.SealedBy, id, columnsPlace, d.Sealed); err != nil {
			return out, err
		}
	}
	if d.Moved != nil {
		out.Row, err = s.Letters.Keys.DecryptBeside(ctx, d.MovedBy, id, rowPlace, d.Moved)
	}
	return out, err
}
