package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// moving reads the newest of a kind with what tells that one has changed.
var moving = []struct {
	kind recoup.IDKind
	sql  string
}{
	{recoup.OperationIDs, `select operation_id, coalesce(hub, ''), state, (members + applied + refused)::bigint, state_at
		from recoup.operation order by created_at desc, operation_id desc limit $1`},
	{recoup.ReplayIDs, `select r.replay_id, coalesce(r.hub, ''), r.state, (r.members + r.phase
			+ coalesce((select sum(c.n) from recoup.replay_count c where c.replay_id = r.replay_id and c.state not in ('PENDING', 'RELEASED')), 0))::bigint, r.state_at
		from (select replay_id, hub, state, members, phase, state_at, created_at from recoup.replay order by created_at desc, replay_id desc limit $1) r order by r.created_at desc`},
	{recoup.AlertIDs, `select alert_id, '', state, (notified + samples)::bigint, coalesce(resolved_at, fired_at, pending_at)
		from recoup.alert /*by alert_list_idx*/ order by pending_at desc, alert_id desc limit $1`},
	{recoup.SilenceIDs, `select silence_id, '', case when ended_at is null then 'HOLDS' else 'ENDED' end, 0::bigint, until
		from recoup.silence order by created_at desc, silence_id desc limit $1`},
	{recoup.DeadLetterIDs, `select n.error_id, d.pipeline, n.step, n.seq, n.at
		from (select seq, error_id, step, at from recoup.dead_letter_note order by seq desc limit $1) n
		join recoup.dead_letter d on d.error_id = n.error_id order by n.seq desc`},
	{recoup.DeadLetterGroupIDs, `select n.group_id, (select g.pipeline from recoup.dead_letter_group g where g.group_id = n.group_id), n.step, n.seq, n.at
		from (select seq, group_id, step, at from recoup.dead_letter_note order by seq desc limit $1) n where n.group_id is not null order by n.seq desc`},
}

// Moving returns the newest operations, replays, alerts and silences, and the dead letters
// and their groups that something was noted about last, with what tells that one of them has
// changed; of each kind at most limit.
func (v Ops) Moving(ctx context.Context, limit int) ([]store.Moving, error) {
	var all []store.Moving
	for _, of := range moving {
		list, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("read what "+string(of.kind)+" have changed", of.sql, sqldb.Clamp(limit)),
			sqldb.ID("id", func(m *store.Moving) *recoup.ID { return &m.ID }), sqldb.Text("of", func(m *store.Moving) *string { return &m.Of }),
			sqldb.Text("state", func(m *store.Moving) *string { return &m.Mark.State }), sqldb.Big("n", func(m *store.Moving) *int64 { return &m.Mark.N }),
			sqldb.Time("at", func(m *store.Moving) *time.Time { return &m.Mark.At }))
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Kind = of.kind
		}
		all = append(all, list...)
	}
	return all, nil
}
