package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"recoup"
	"recoup/internal/store"
)

// The columns of the tables of staged work and where each belongs. The first is
// the key, or a part of it.
var (
	letterColumns = func() []column[store.DeadLetter] {
		type d = store.DeadLetter
		return []column[d]{
			id("error_id", func(d *d) *recoup.ID { return &d.ErrorID }),
			id("work_id", func(d *d) *recoup.ID { return &d.WorkID }),
			text("pipeline", func(d *d) *string { return &d.Pipeline }),
			text("stage", func(d *d) *string { return &d.Stage }),
			text("error_class", func(d *d) *recoup.Code { return &d.Class }),
			text("signature", func(d *d) *string { return &d.Signature }),
			id("group_id", func(d *d) *recoup.ID { return &d.Group }),
			text("step", func(d *d) *store.WorkflowStep { return &d.Step }),
			text("cause", func(d *d) *store.Cause { return &d.Cause }),
			flag("exhausted", func(d *d) *bool { return &d.Exhausted }),
			number("round", func(d *d) *int { return &d.Round }),
			stamp("first_failure_at", func(d *d) *time.Time { return &d.FirstFailureAt }),
			stamp("last_failure_at", func(d *d) *time.Time { return &d.LastFailureAt }),
			text("payload_ref", func(d *d) *string { return &d.PayloadRef }),
			text("payload_hash", func(d *d) *string { return &d.PayloadHash }),
			id("previous_id", func(d *d) *recoup.ID { return &d.PreviousID }),
			stamp("held_expiry", func(d *d) *time.Time { return &d.HeldExpiry }),
			stamp("created_at", func(d *d) *time.Time { return &d.CreatedAt }),
			stamp("updated_at", func(d *d) *time.Time { return &d.UpdatedAt }),
			stamp("closed_at", func(d *d) *time.Time { return &d.ClosedAt }),
		}
	}()

	roundColumns = func() []column[store.Round] {
		type r = store.Round
		return []column[r]{
			id("error_id", func(r *r) *recoup.ID { return &r.ErrorID }),
			number("round", func(r *r) *int { return &r.Round }),
			id("replay_id", func(r *r) *recoup.ID { return &r.ReplayID }),
			text("stage", func(r *r) *string { return &r.Stage }),
			text("error_class", func(r *r) *recoup.Code { return &r.Class }),
			text("signature", func(r *r) *string { return &r.Signature }),
			text("last_stack", func(r *r) *string { return &r.LastStack }),
			jsonText("context", func(r *r) *store.JSON { return &r.Context }),
			stamp("first_failure_at", func(r *r) *time.Time { return &r.FirstFailureAt }),
			stamp("last_failure_at", func(r *r) *time.Time { return &r.LastFailureAt }),
			stamp("at", func(r *r) *time.Time { return &r.At }),
		}
	}()

	noteColumns = func() []column[store.Note] {
		type n = store.Note
		return []column[n]{
			stamp("at", func(n *n) *time.Time { return &n.At }),
			id("error_id", func(n *n) *recoup.ID { return &n.ErrorID }),
			id("replay_id", func(n *n) *recoup.ID { return &n.ReplayID }),
			id("group_id", func(n *n) *recoup.ID { return &n.GroupID }),
			number("round", func(n *n) *int { return &n.Round }),
			text("step", func(n *n) *store.WorkflowStep { return &n.Step }),
			text("actor", func(n *n) *string { return &n.Actor }),
			text("note", func(n *n) *string { return &n.Text }),
			text("link", func(n *n) *string { return &n.Link }),
			jsonText("fields", func(n *n) *store.JSON { return &n.Fields }),
		}
	}()

	groupColumns = func() []column[store.Group] {
		type g = store.Group
		return []column[g]{
			id("group_id", func(g *g) *recoup.ID { return &g.ID }),
			text("pipeline", func(g *g) *string { return &g.Pipeline }),
			text("stage", func(g *g) *string { return &g.Stage }),
			text("error_class", func(g *g) *recoup.Code { return &g.Class }),
			text("signature", func(g *g) *string { return &g.Signature }),
			text("owner", func(g *g) *string { return &g.Owner }),
			text("note", func(g *g) *string { return &g.Note }),
			stamp("first_seen_at", func(g *g) *time.Time { return &g.FirstSeenAt }),
			stamp("last_seen_at", func(g *g) *time.Time { return &g.LastSeenAt }),
		}
	}()

	// countedGroupColumns reads a group with its counts.
	countedGroupColumns = append(within("g.", groupColumns, func(g *store.Group) *store.Group { return g }),
		bigint("c.open", func(g *store.Group) *int64 { return &g.Open }),
		bigint("c.total", func(g *store.Group) *int64 { return &g.Total }))

	payloadColumns = func() []column[store.Payload] {
		type p = store.Payload
		return []column[p]{
			id("work_id", func(p *p) *recoup.ID { return &p.WorkID }),
			text("key_id", func(p *p) *string { return &p.KeyID }),
			blob("sealed", func(p *p) *[]byte { return &p.Sealed }),
			stamp("at", func(p *p) *time.Time { return &p.At }),
		}
	}()

	checkpointColumns = func() []column[store.Checkpoint] {
		type c = store.Checkpoint
		return []column[c]{
			id("work_id", func(c *c) *recoup.ID { return &c.WorkID }),
			text("stage", func(c *c) *string { return &c.Stage }),
			text("key_id", func(c *c) *string { return &c.KeyID }),
			blob("sealed", func(c *c) *[]byte { return &c.Sealed }),
			stamp("at", func(c *c) *time.Time { return &c.At }),
		}
	}()

	// queueColumns begin with those that change as workers come and go.
	queueColumns = func() []column[store.QueuedWork] {
		type q = store.QueuedWork
		return []column[q]{
			id("work_id", func(q *q) *recoup.ID { return &q.WorkID }),
			text("stage", func(q *q) *string { return &q.Stage }),
			stamp("due_at", func(q *q) *time.Time { return &q.DueAt }),
			id("lease_token", func(q *q) *recoup.ID { return &q.LeaseToken }),
			text("lease_worker", func(q *q) *string { return &q.LeaseWorker }),
			stamp("leased_at", func(q *q) *time.Time { return &q.LeasedAt }),
			stamp("lease_ends_at", func(q *q) *time.Time { return &q.LeaseEndsAt }),
			number("claims", func(q *q) *int { return &q.Claims }),
			number("lapses", func(q *q) *int { return &q.Lapses }),
			text("pipeline", func(q *q) *string { return &q.Pipeline }),
			text("error_class", func(q *q) *recoup.Code { return &q.Class }),
			id("replay_id", func(q *q) *recoup.ID { return &q.ReplayID }),
			id("error_id", func(q *q) *recoup.ID { return &q.ErrorID }),
			text("payload_ref", func(q *q) *string { return &q.PayloadRef }),
			text("payload_hash", func(q *q) *string { return &q.PayloadHash }),
			stamp("created_at", func(q *q) *time.Time { return &q.CreatedAt }),
		}
	}()
)

// queueChanges is how many of queueColumns can change, the key counted.
const queueChanges = 9

var (
	pauseColumns = func() []column[store.Pause] {
		type p = store.Pause
		return []column[p]{
			text("pipeline", func(p *p) *string { return &p.Pipeline }),
			text("stage", func(p *p) *string { return &p.Stage }),
			text("error_class", func(p *p) *recoup.Code { return &p.Class }),
			text("paused_by", func(p *p) *string { return &p.By }),
			text("reason", func(p *p) *string { return &p.Reason }),
			stamp("paused_at", func(p *p) *time.Time { return &p.At }),
			stamp("until", func(p *p) *time.Time { return &p.Until }),
		}
	}()

	replayColumns = func() []column[store.Replay] {
		type r = store.Replay
		return []column[r]{
			id("replay_id", func(r *r) *recoup.ID { return &r.ID }),
			text("state", func(r *r) *store.ReplayState { return &r.State }),
			text("hub", func(r *r) *string { return &r.Hub }),
			jsonText("selection", func(r *r) *store.JSON { return &r.Selection }),
			text("cursor", func(r *r) *string { return &r.Cursor }),
			object("plan", func(r *r) *store.ReplayPlan { return &r.Plan }),
			number("members", func(r *r) *int { return &r.Members }),
			number("phase", func(r *r) *int { return &r.Phase }),
			stamp("phase_at", func(r *r) *time.Time { return &r.PhaseAt }),
			stamp("next_at", func(r *r) *time.Time { return &r.NextAt }),
			stamp("created_at", func(r *r) *time.Time { return &r.CreatedAt }),
			text("created_by", func(r *r) *string { return &r.CreatedBy }),
			text("reason", func(r *r) *string { return &r.Reason }),
			stamp("state_at", func(r *r) *time.Time { return &r.StateAt }),
			text("state_by", func(r *r) *string { return &r.StateBy }),
			text("state_reason", func(r *r) *string { return &r.Why }),
			stamp("started_at", func(r *r) *time.Time { return &r.StartedAt }),
			stamp("ended_at", func(r *r) *time.Time { return &r.EndedAt }),
		}
	}()

	// replayStatusColumns reads a replay with its counts.
	replayStatusColumns = append(within("r.", replayColumns, func(s *store.ReplayStatus) *store.Replay { return &s.Replay }),
		column[store.ReplayStatus]{name: "c.counts", read: func(s *store.ReplayStatus, value []byte) error {
			if err := json.Unmarshal(value, &s.Counts); err != nil {
				return fmt.Errorf("column counts: %w", err)
			}
			return nil
		}})

	// itemColumns begin with the key, of which the position tells items apart.
	itemColumns = func() []column[store.ReplayItem] {
		type i = store.ReplayItem
		return []column[i]{
			number("position", func(i *i) *int { return &i.Position }),
			id("replay_id", func(i *i) *recoup.ID { return &i.ReplayID }),
			text("state", func(i *i) *store.ItemState { return &i.State }),
			number("phase", func(i *i) *int { return &i.Phase }),
			stamp("released_at", func(i *i) *time.Time { return &i.ReleasedAt }),
			stamp("ended_at", func(i *i) *time.Time { return &i.EndedAt }),
			text("worker", func(i *i) *string { return &i.Worker }),
			text("error_class", func(i *i) *recoup.Code { return &i.Class }),
			text("detail", func(i *i) *string { return &i.Detail }),
			id("error_id", func(i *i) *recoup.ID { return &i.ErrorID }),
			id("work_id", func(i *i) *recoup.ID { return &i.WorkID }),
			number("round", func(i *i) *int { return &i.Round }),
			text("stage", func(i *i) *string { return &i.Stage }),
		}
	}()

	// partColumns reads a letter from a join, but for its error.
	partColumns = func() []column[store.Letter] {
		type l = store.Letter
		list := within("d.", letterColumns, func(l *l) *store.DeadLetter { return &l.Dead })
		list = append(list, within("i.", itemColumns, func(l *l) *store.ReplayItem { return &l.Item })...)
		return append(list, within("w.", queueColumns, func(l *l) *store.QueuedWork { return &l.Queued })...)
	}()

	// wholeColumns reads a letter with the error that stands in its table.
	wholeColumns = append(partColumns[:len(partColumns):len(partColumns)],
		within("e.", errorColumns(), func(l *store.Letter) *recoup.Error { return &l.Error })...)
)

// itemChanges is how many of itemColumns can change, the key counted.
const itemChanges = 9

// within makes columns of a part, as they are read, into columns of the whole.
func within[W, P any](prefix string, columns []column[P], part func(*W) *P) []column[W] {
	list := make([]column[W], len(columns))
	for i, c := range columns {
		list[i] = column[W]{name: prefix + c.name, read: func(w *W, value []byte) error { return c.read(part(w), value) }}
	}
	return list
}
