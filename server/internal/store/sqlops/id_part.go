package sqlops

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// places are where things of a kind are.
var places = map[recoup.IDKind][]place{
	recoup.ErrorIDs: {
		newPlace("recoup.error", "error_id_end_idx", "error_id", "table_name", "code", "created_at"),
		newPlace("recoup.error_archive", "error_archive_id_end_idx", "error_id", "table_name", "code", "created_at"),
	},
	recoup.DeadLetterIDs:      {newPlace("recoup.dead_letter", "dead_letter_id_end_idx", "error_id", "pipeline", "error_class", "created_at")},
	recoup.DeadLetterGroupIDs: {newPlace("recoup.dead_letter_group", "dead_letter_group_id_end_idx", "group_id", "pipeline", "error_class", "last_seen_at")},
	recoup.ReplayIDs:          {newPlace("recoup.replay", "replay_id_end_idx", "replay_id", "hub", "state", "created_at")},
	recoup.OperationIDs:       {newPlace("recoup.operation", "operation_id_end_idx", "operation_id", "hub", "state", "created_at")},
	recoup.IntakeIDs:          {newPlace("cl.gate_zero_intake", "gate_zero_intake_id_end_idx", "intake_id", "company_name", "status", "created_at")},
	recoup.AlertIDs:           {newPlace("recoup.alert", "alert_id_end_idx", "alert_id", "rule", "state", "pending_at")},
	recoup.SilenceIDs:         {newPlace("recoup.silence", "silence_id_end_idx", "silence_id", "rule", "scope", "created_at")},
	recoup.NoticeIDs:          {newPlace("recoup.outbox", "outbox_id_end_idx", "notice_id", "recipient", "kind", "created_at")},
	recoup.KeyIDs:             {newPlace("recoup.api_key", "api_key_id_end_idx", "key_id", "name", "role", "created_at")},
}

// place is a table in which ids are looked for: by their end, of which the table has an
// index, and by their beginning, which its key is sorted by.
type place struct {
	sqldb.Repository[recoup.FoundID]
	ends, begins string
}

func newPlace(name, index, key, of, what, at string) place {
	t := sqldb.Table[recoup.FoundID]{Name: name, Columns: []sqldb.Column[recoup.FoundID]{
		sqldb.ID(key, func(f *recoup.FoundID) *recoup.ID { return &f.ID }),
		sqldb.Text(of, func(f *recoup.FoundID) *string { return &f.Of }),
		sqldb.Text(what, func(f *recoup.FoundID) *string { return &f.What }),
		sqldb.Time(at, func(f *recoup.FoundID) *time.Time { return &f.At }),
	}}
	return place{
		Repository: sqldb.NewRepository(t, "id"),
		ends:       sqldb.IndexedBy(index) + " where substr(uuid_send(" + key + "), 14) = $1 limit $2",
		begins:     "where " + key + " between $1 and $2 order by " + key + " desc limit $3",
	}
}

// FindIDs returns things of a kind whose id begins or ends with a part, at most limit by
// each, the newest first.
func (v Ops) FindIDs(ctx context.Context, kind recoup.IDKind, part recoup.IDPart, limit int) ([]recoup.FoundID, error) {
	const doing = "look for an id"
	first, last := part.Span()
	var found []recoup.FoundID
	for _, p := range places[kind] {
		for _, q := range []*sqldb.Query{p.Select(doing, p.ends, part.End(), sqldb.Clamp(limit)), p.Select(doing, p.begins, first, last, sqldb.Clamp(limit))} {
			list, err := p.List(ctx, v.db, q)
			if err != nil {
				return nil, err
			}
			found = append(found, list...)
		}
	}
	found = slices.DeleteFunc(found, func(f recoup.FoundID) bool { return !part.Of(f.ID) })
	slices.SortFunc(found, func(a, b recoup.FoundID) int {
		return cmp.Or(b.At.Compare(a.At), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return slices.CompactFunc(found, func(a, b recoup.FoundID) bool { return a.ID == b.ID }), nil
}
