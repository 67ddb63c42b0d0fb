package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"strings"

	"recoup"
	"recoup/internal/store"
)

// The columns of the tables of staged work. The functions below return the
// fields they belong to, in the same order.
const (
	letterColumns = `error_id, work_id, pipeline, stage, error_class, signature, group_id, step, cause, exhausted, round, ` +
		`first_failure_at, last_failure_at, payload_ref, payload_hash, previous_id, held_expiry, created_at, updated_at, closed_at`
	roundColumns = `error_id, round, replay_id, stage, error_class, signature, last_stack, context, first_failure_at, last_failure_at, at`
	noteColumns  = `error_id, replay_id, group_id, round, step, actor, at, note, link, fields`
	groupColumns = `group_id, pipeline, stage, error_class, signature, owner, note, first_seen_at, last_seen_at`

	payloadColumns    = `work_id, key_id, sealed, at`
	checkpointColumns = `work_id, stage, key_id, sealed, at`
	queueColumns      = `work_id, stage, due_at, lease_token, lease_worker, leased_at, lease_ends_at, claims, lapses, ` +
		`pipeline, error_class, replay_id, error_id, payload_ref, payload_hash, created_at`
	pauseColumns = `pipeline, stage, error_class, paused_by, reason, paused_at, until`

	replayColumns = `replay_id, state, hub, selection, cursor, plan, members, phase, phase_at, next_at, created_at, created_by, reason, ` +
		`state_at, state_by, state_reason, started_at, ended_at`
	itemColumns = `replay_id, position, state, phase, released_at, ended_at, worker, error_class, detail, error_id, work_id, round, stage`
)

// How many of a table's columns can change, the key counted; they come first.
const (
	queueChanges = 9
	itemChanges  = 9
)

func letterFields(d *store.DeadLetter) []any {
	return []any{
		id{&d.ErrorID}, id{&d.WorkID}, text[string]{&d.Pipeline}, text[string]{&d.Stage}, text[recoup.Code]{&d.Class},
		text[string]{&d.Signature}, id{&d.Group}, text[store.WorkflowStep]{&d.Step}, text[store.Cause]{&d.Cause},
		optionalFlag{&d.Exhausted}, optional{&d.Round}, stamp{&d.FirstFailureAt}, stamp{&d.LastFailureAt}, text[string]{&d.PayloadRef}, text[string]{&d.PayloadHash},
		id{&d.PreviousID}, stamp{&d.HeldExpiry}, stamp{&d.CreatedAt}, stamp{&d.UpdatedAt}, stamp{&d.ClosedAt},
	}
}

func roundFields(r *store.Round) []any {
	return []any{
		id{&r.ErrorID}, number{&r.Round}, id{&r.ReplayID}, text[string]{&r.Stage}, text[recoup.Code]{&r.Class}, text[string]{&r.Signature},
		text[string]{&r.LastStack}, text[store.JSON]{&r.Context}, stamp{&r.FirstFailureAt}, stamp{&r.LastFailureAt}, stamp{&r.At},
	}
}

func noteFields(n *store.Note) []any {
	return []any{
		id{&n.ErrorID}, id{&n.ReplayID}, id{&n.GroupID}, number{&n.Round}, text[store.WorkflowStep]{&n.Step}, text[string]{&n.Actor},
		stamp{&n.At}, text[string]{&n.Text}, text[string]{&n.Link}, text[store.JSON]{&n.Fields},
	}
}

func groupFields(g *store.Group) []any {
	return []any{
		id{&g.ID}, text[string]{&g.Pipeline}, text[string]{&g.Stage}, text[recoup.Code]{&g.Class}, text[string]{&g.Signature},
		text[string]{&g.Owner}, text[string]{&g.Note}, stamp{&g.FirstSeenAt}, stamp{&g.LastSeenAt},
	}
}

// countedGroupFields are those of a group with its counts.
func countedGroupFields(g *store.Group) []any {
	return append(groupFields(g), bigint{&g.Open}, bigint{&g.Total})
}

func payloadFields(p *store.Payload) []any {
	return []any{id{&p.WorkID}, text[string]{&p.KeyID}, blob{&p.Sealed}, stamp{&p.At}}
}

func checkpointFields(c *store.Checkpoint) []any {
	return []any{id{&c.WorkID}, text[string]{&c.Stage}, text[string]{&c.KeyID}, blob{&c.Sealed}, stamp{&c.At}}
}

func queueFields(q *store.QueuedWork) []any {
	return []any{
		id{&q.WorkID}, text[string]{&q.Stage}, stamp{&q.DueAt}, id{&q.LeaseToken}, text[string]{&q.LeaseWorker}, stamp{&q.LeasedAt},
		stamp{&q.LeaseEndsAt}, optional{&q.Claims}, optional{&q.Lapses}, text[string]{&q.Pipeline}, text[recoup.Code]{&q.Class},
		id{&q.ReplayID}, id{&q.ErrorID}, text[string]{&q.PayloadRef}, text[string]{&q.PayloadHash}, stamp{&q.CreatedAt},
	}
}

func pauseFields(p *store.Pause) []any {
	return []any{&p.Pipeline, &p.Stage, text[recoup.Code]{&p.Class}, &p.By, &p.Reason, stamp{&p.At}, stamp{&p.Until}}
}

func replayFields(r *store.Replay) []any {
	return []any{
		id{&r.ID}, text[store.ReplayState]{&r.State}, text[string]{&r.Hub}, text[store.JSON]{&r.Selection}, text[string]{&r.Cursor}, plan{&r.Plan},
		number{&r.Members}, number{&r.Phase}, stamp{&r.PhaseAt}, stamp{&r.NextAt}, stamp{&r.CreatedAt}, text[string]{&r.CreatedBy},
		text[string]{&r.Reason}, stamp{&r.StateAt}, text[string]{&r.StateBy}, text[string]{&r.Why}, stamp{&r.StartedAt}, stamp{&r.EndedAt},
	}
}

// replayStatusFields are those of a replay with its counts.
func replayStatusFields(s *store.ReplayStatus) []any {
	return append(replayFields(&s.Replay), counts{&s.Counts})
}

func itemFields(i *store.ReplayItem) []any {
	return []any{
		id{&i.ReplayID}, optional{&i.Position}, text[store.ItemState]{&i.State}, optional{&i.Phase}, stamp{&i.ReleasedAt},
		stamp{&i.EndedAt}, text[string]{&i.Worker}, text[recoup.Code]{&i.Class}, text[string]{&i.Detail},
		id{&i.ErrorID}, id{&i.WorkID}, optional{&i.Round}, text[string]{&i.Stage},
	}
}

// partFields are the fields of a letter but for its error.
func partFields(l *store.Letter) []any {
	list := append(letterFields(&l.Dead), itemFields(&l.Item)...)
	return append(list, queueFields(&l.Queued)...)
}

// plan is how a replay goes, kept as JSON; none is null.
type plan struct{ to *store.ReplayPlan }

func (f plan) Value() (driver.Value, error) {
	if *f.to == (store.ReplayPlan{}) {
		return nil, nil
	}
	b, err := json.Marshal(f.to)
	return string(b), err
}

func (f plan) Scan(src any) error {
	*f.to = store.ReplayPlan{}
	return readJSON(src, f.to)
}

// counts are those of a replay, read as JSON.
type counts struct{ to *[]store.ReplayCount }

func (f counts) Scan(src any) error { return readJSON(src, f.to) }

func readJSON(src, into any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), into)
	}
	return unreadableAs(src, "JSON")
}

// optional is a number that may be missing from an outer join.
type optional struct{ to *int }

func (f optional) Value() (driver.Value, error) { return number(f).Value() }

func (f optional) Scan(src any) error {
	if src == nil {
		*f.to = 0
		return nil
	}
	return number(f).Scan(src)
}

// of names the columns of one table in a join.
func of(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// addTo returns the statement that writes one row with these columns.
func addTo(table, columns string) string {
	return "insert into " + table + " (" + columns + ") values (?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
}
