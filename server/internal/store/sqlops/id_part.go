package sqlops

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// places are the tables of the ids of each kind.
var places = map[recoup.IDKind][]sqldb.Place{
	recoup.ErrorIDs: {
		sqldb.NewPlace("recoup.error", "error_id_end_idx", "error_id", "table_name", "code", "created_at"),
		sqldb.NewPlace("recoup.error_archive", "error_archive_id_end_idx", "error_id", "table_name", "code", "created_at"),
	},
	recoup.DeadLetterIDs:      {sqldb.NewPlace("recoup.dead_letter", "dead_letter_id_end_idx", "error_id", "pipeline", "error_class", "created_at")},
	recoup.DeadLetterGroupIDs: {sqldb.NewPlace("recoup.dead_letter_group", "dead_letter_group_id_end_idx", "group_id", "pipeline", "error_class", "last_seen_at")},
	recoup.ReplayIDs:          {sqldb.NewPlace("recoup.replay", "replay_id_end_idx", "replay_id", "hub", "state", "created_at")},
	recoup.OperationIDs:       {sqldb.NewPlace("recoup.operation", "operation_id_end_idx", "operation_id", "hub", "state", "created_at")},
	recoup.AlertIDs:           {sqldb.NewPlace("recoup.alert", "alert_id_end_idx", "alert_id", "rule", "state", "pending_at")},
	recoup.SilenceIDs:         {sqldb.NewPlace("recoup.silence", "silence_id_end_idx", "silence_id", "rule", "scope", "created_at")},
	recoup.NoticeIDs:          {sqldb.NewPlace("recoup.outbox", "outbox_id_end_idx", "notice_id", "recipient", "kind", "created_at")},
	recoup.KeyIDs:             {sqldb.NewPlace("recoup.api_key", "api_key_id_end_idx", "key_id", "name", "role", "created_at")},
}

// FindIDs returns things of a kind whose id begins or ends with a part, at most limit by
// each, the newest first.
func (v Ops) FindIDs(ctx context.Context, kind recoup.IDKind, part recoup.IDPart, limit int) ([]wire.FoundID, error) {
	return sqldb.FindIDs(ctx, v.db, part, limit, places[kind]...)
}
