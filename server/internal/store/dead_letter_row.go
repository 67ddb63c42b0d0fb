package store

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// What the tables of staged work consist of.
var (
	// DeadLetters are the dead letters beside their errors.
	DeadLetters = sqldb.Table[recoup.DeadLetter]{Name: "recoup.dead_letter", Columns: []sqldb.Column[recoup.DeadLetter]{
		sqldb.ID("error_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.ErrorID }).Key(),
		sqldb.ID("work_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.WorkID }),
		sqldb.Text("pipeline", func(d *recoup.DeadLetter) *string { return &d.Pipeline }),
		sqldb.Text("stage", func(d *recoup.DeadLetter) *string { return &d.Stage }),
		sqldb.Text("error_class", func(d *recoup.DeadLetter) *string { return (*string)(&d.Class) }),
		sqldb.Text("signature", func(d *recoup.DeadLetter) *string { return &d.Signature }),
		sqldb.ID("group_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.GroupID }),
		sqldb.Text("step", func(d *recoup.DeadLetter) *string { return (*string)(&d.Step) }),
		sqldb.Text("cause", func(d *recoup.DeadLetter) *string { return (*string)(&d.Cause) }),
		sqldb.Bool("exhausted", func(d *recoup.DeadLetter) *bool { return &d.Exhausted }),
		sqldb.Int("round", func(d *recoup.DeadLetter) *int { return &d.Round }),
		sqldb.Time("first_failure_at", func(d *recoup.DeadLetter) *time.Time { return &d.FirstFailureAt }),
		sqldb.Time("last_failure_at", func(d *recoup.DeadLetter) *time.Time { return &d.LastFailureAt }),
		sqldb.Text("payload_ref", func(d *recoup.DeadLetter) *string { return &d.PayloadRef }),
		sqldb.Text("payload_hash", func(d *recoup.DeadLetter) *string { return &d.PayloadHash }),
		sqldb.ID("previous_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.PreviousID }),
		sqldb.Time("held_expiry", func(d *recoup.DeadLetter) *time.Time { return &d.HeldExpiry }),
		sqldb.Time("created_at", func(d *recoup.DeadLetter) *time.Time { return &d.CreatedAt }),
		sqldb.Time("updated_at", func(d *recoup.DeadLetter) *time.Time { return &d.UpdatedAt }),
		sqldb.Time("closed_at", func(d *recoup.DeadLetter) *time.Time { return &d.ClosedAt }),
	}}

	// Rounds are the failures of dead letters.
	Rounds = sqldb.Table[recoup.Round]{Name: "recoup.dead_letter_round", Columns: []sqldb.Column[recoup.Round]{
		sqldb.ID("error_id", func(r *recoup.Round) *recoup.ID { return &r.ErrorID }),
		sqldb.Int("round", func(r *recoup.Round) *int { return &r.Round }),
		sqldb.ID("replay_id", func(r *recoup.Round) *recoup.ID { return &r.ReplayID }),
		sqldb.Text("stage", func(r *recoup.Round) *string { return &r.Stage }),
		sqldb.Text("error_class", func(r *recoup.Round) *string { return (*string)(&r.Class) }),
		sqldb.Text("signature", func(r *recoup.Round) *string { return &r.Signature }),
		sqldb.Text("last_stack", func(r *recoup.Round) *string { return &r.LastStack }),
		sqldb.JSON("context", func(r *recoup.Round) *string { return (*string)(&r.Context) }),
		sqldb.Time("first_failure_at", func(r *recoup.Round) *time.Time { return &r.FirstFailureAt }),
		sqldb.Time("last_failure_at", func(r *recoup.Round) *time.Time { return &r.LastFailureAt }),
		sqldb.Time("at", func(r *recoup.Round) *time.Time { return &r.At }),
	}}

	// Notes are what people and the system noted.
	Notes = sqldb.Table[recoup.Note]{Name: "recoup.dead_letter_note", Columns: []sqldb.Column[recoup.Note]{
		sqldb.Time("at", func(n *recoup.Note) *time.Time { return &n.At }),
		sqldb.ID("error_id", func(n *recoup.Note) *recoup.ID { return &n.ErrorID }),
		sqldb.ID("replay_id", func(n *recoup.Note) *recoup.ID { return &n.ReplayID }),
		sqldb.ID("group_id", func(n *recoup.Note) *recoup.ID { return &n.GroupID }),
		sqldb.Int("round", func(n *recoup.Note) *int { return &n.Round }),
		sqldb.Text("step", func(n *recoup.Note) *string { return (*string)(&n.Step) }),
		sqldb.Text("actor", func(n *recoup.Note) *string { return &n.Actor }),
		sqldb.Text("note", func(n *recoup.Note) *string { return &n.Text }),
		sqldb.Text("link", func(n *recoup.Note) *string { return &n.Link }),
		sqldb.JSON("fields", func(n *recoup.Note) *string { return (*string)(&n.Fields) }),
	}}

	// Groups are the groups, but for their counts.
	Groups = sqldb.Table[recoup.DeadLetterGroup]{Name: "recoup.dead_letter_group", Columns: []sqldb.Column[recoup.DeadLetterGroup]{
		sqldb.ID("group_id", func(g *recoup.DeadLetterGroup) *recoup.ID { return &g.ID }).Key(),
		sqldb.Text("pipeline", func(g *recoup.DeadLetterGroup) *string { return &g.Pipeline }).Fixed(),
		sqldb.Text("stage", func(g *recoup.DeadLetterGroup) *string { return &g.Stage }).Fixed(),
		sqldb.Text("error_class", func(g *recoup.DeadLetterGroup) *string { return (*string)(&g.Class) }).Fixed(),
		sqldb.Text("signature", func(g *recoup.DeadLetterGroup) *string { return &g.Signature }).Fixed(),
		sqldb.Text("owner", func(g *recoup.DeadLetterGroup) *string { return &g.Owner }),
		sqldb.Text("note", func(g *recoup.DeadLetterGroup) *string { return &g.Note }),
		sqldb.Time("first_seen_at", func(g *recoup.DeadLetterGroup) *time.Time { return &g.FirstSeenAt }).Fixed(),
		sqldb.Time("last_seen_at", func(g *recoup.DeadLetterGroup) *time.Time { return &g.LastSeenAt }).Fixed(),
	}}

	// Payloads are what work is done on.
	Payloads = sqldb.Table[Payload]{Name: "recoup.work_payload", Columns: []sqldb.Column[Payload]{
		sqldb.ID("work_id", func(p *Payload) *recoup.ID { return &p.WorkID }).Key(),
		sqldb.Text("key_id", func(p *Payload) *string { return &p.KeyID }),
		sqldb.Bytes("sealed", func(p *Payload) *[]byte { return &p.Sealed }),
		sqldb.Time("at", func(p *Payload) *time.Time { return &p.At }),
	}}

	// Checkpoints are the outputs of finished stages.
	Checkpoints = sqldb.Table[Checkpoint]{Name: "recoup.checkpoint", Columns: []sqldb.Column[Checkpoint]{
		sqldb.ID("work_id", func(c *Checkpoint) *recoup.ID { return &c.WorkID }).Key(),
		sqldb.Text("stage", func(c *Checkpoint) *string { return &c.Stage }).Key(),
		sqldb.Text("key_id", func(c *Checkpoint) *string { return &c.KeyID }),
		sqldb.Bytes("sealed", func(c *Checkpoint) *[]byte { return &c.Sealed }),
		sqldb.Time("at", func(c *Checkpoint) *time.Time { return &c.At }),
	}}

	// WorkQueue is the queue.
	WorkQueue = sqldb.Table[recoup.WorkItem]{Name: "recoup.work", Columns: []sqldb.Column[recoup.WorkItem]{
		sqldb.ID("work_id", func(q *recoup.WorkItem) *recoup.ID { return &q.WorkID }).Key(),
		sqldb.Text("stage", func(q *recoup.WorkItem) *string { return &q.Stage }),
		sqldb.Time("due_at", func(q *recoup.WorkItem) *time.Time { return &q.DueAt }),
		sqldb.ID("lease_token", func(q *recoup.WorkItem) *recoup.ID { return &q.LeaseToken }),
		sqldb.Text("lease_worker", func(q *recoup.WorkItem) *string { return &q.LeaseWorker }),
		sqldb.Time("leased_at", func(q *recoup.WorkItem) *time.Time { return &q.LeasedAt }),
		sqldb.Time("lease_ends_at", func(q *recoup.WorkItem) *time.Time { return &q.LeaseEndsAt }),
		sqldb.Int("claims", func(q *recoup.WorkItem) *int { return &q.Claims }),
		sqldb.Int("lapses", func(q *recoup.WorkItem) *int { return &q.Lapses }),
		sqldb.JSON("failures", func(q *recoup.WorkItem) *string { return (*string)(&q.Failures) }),
		sqldb.Text("pipeline", func(q *recoup.WorkItem) *string { return &q.Pipeline }).Fixed(),
		sqldb.Text("entity_id", func(q *recoup.WorkItem) *string { return &q.EntityID }).Fixed(),
		sqldb.Text("error_class", func(q *recoup.WorkItem) *string { return (*string)(&q.Class) }).Fixed(),
		sqldb.ID("replay_id", func(q *recoup.WorkItem) *recoup.ID { return &q.ReplayID }).Fixed(),
		sqldb.ID("error_id", func(q *recoup.WorkItem) *recoup.ID { return &q.ErrorID }).Fixed(),
		sqldb.Text("payload_ref", func(q *recoup.WorkItem) *string { return &q.PayloadRef }).Fixed(),
		sqldb.Text("payload_hash", func(q *recoup.WorkItem) *string { return &q.PayloadHash }).Fixed(),
		sqldb.Time("created_at", func(q *recoup.WorkItem) *time.Time { return &q.CreatedAt }).Fixed(),
	}}

	// Pauses are what is not handed out for a while.
	Pauses = sqldb.Table[recoup.WorkPause]{Name: "recoup.work_pause", Columns: []sqldb.Column[recoup.WorkPause]{
		sqldb.Word("pipeline", func(p *recoup.WorkPause) *string { return &p.Pipeline }).Key(),
		sqldb.Word("stage", func(p *recoup.WorkPause) *string { return &p.Stage }).Key(),
		sqldb.Word("error_class", func(p *recoup.WorkPause) *string { return (*string)(&p.Class) }).Key(),
		sqldb.Word("paused_by", func(p *recoup.WorkPause) *string { return &p.By }),
		sqldb.Word("reason", func(p *recoup.WorkPause) *string { return &p.Reason }),
		sqldb.Time("paused_at", func(p *recoup.WorkPause) *time.Time { return &p.At }),
		sqldb.Time("until", func(p *recoup.WorkPause) *time.Time { return &p.Until }),
	}}

	// Replays are the replays, but for their counts.
	Replays = sqldb.Table[recoup.Replay]{Name: "recoup.replay", Columns: []sqldb.Column[recoup.Replay]{
		sqldb.ID("replay_id", func(r *recoup.Replay) *recoup.ID { return &r.ID }).Key(),
		sqldb.Text("state", func(r *recoup.Replay) *string { return (*string)(&r.State) }),
		sqldb.Text("hub", func(r *recoup.Replay) *string { return &r.Hub }),
		sqldb.JSON("selection", func(r *recoup.Replay) *string { return (*string)(&r.Selection) }),
		sqldb.Text("cursor", func(r *recoup.Replay) *string { return &r.Cursor }),
		sqldb.JSONOf("plan", func(r *recoup.Replay) *recoup.ReplayPlan { return &r.Plan }),
		sqldb.Int("members", func(r *recoup.Replay) *int { return &r.Members }),
		sqldb.Int("phase", func(r *recoup.Replay) *int { return &r.Phase }),
		sqldb.Time("phase_at", func(r *recoup.Replay) *time.Time { return &r.PhaseAt }),
		sqldb.Time("next_at", func(r *recoup.Replay) *time.Time { return &r.NextAt }),
		sqldb.Time("created_at", func(r *recoup.Replay) *time.Time { return &r.CreatedAt }),
		sqldb.Text("created_by", func(r *recoup.Replay) *string { return &r.CreatedBy }),
		sqldb.Text("reason", func(r *recoup.Replay) *string { return &r.Reason }),
		sqldb.Time("state_at", func(r *recoup.Replay) *time.Time { return &r.StateAt }),
		sqldb.Text("state_by", func(r *recoup.Replay) *string { return &r.StateBy }),
		sqldb.Text("state_reason", func(r *recoup.Replay) *string { return &r.Why }),
		sqldb.Time("started_at", func(r *recoup.Replay) *time.Time { return &r.StartedAt }),
		sqldb.Time("ended_at", func(r *recoup.Replay) *time.Time { return &r.EndedAt }),
	}}

	// ReplayItems are the members of replays.
	ReplayItems = sqldb.Table[recoup.ReplayItem]{Name: "recoup.replay_item", Columns: []sqldb.Column[recoup.ReplayItem]{
		sqldb.Int("position", func(r *recoup.ReplayItem) *int { return &r.Position }).Key(),
		sqldb.ID("replay_id", func(r *recoup.ReplayItem) *recoup.ID { return &r.ReplayID }).Key(),
		sqldb.Text("state", func(r *recoup.ReplayItem) *string { return (*string)(&r.State) }),
		sqldb.Int("phase", func(r *recoup.ReplayItem) *int { return &r.Phase }),
		sqldb.Time("released_at", func(r *recoup.ReplayItem) *time.Time { return &r.ReleasedAt }),
		sqldb.Time("ended_at", func(r *recoup.ReplayItem) *time.Time { return &r.EndedAt }),
		sqldb.Text("worker", func(r *recoup.ReplayItem) *string { return &r.Worker }),
		sqldb.Text("error_class", func(r *recoup.ReplayItem) *string { return (*string)(&r.Class) }),
		sqldb.Text("detail", func(r *recoup.ReplayItem) *string { return &r.Detail }),
		sqldb.ID("error_id", func(r *recoup.ReplayItem) *recoup.ID { return &r.ErrorID }).Fixed(),
		sqldb.ID("work_id", func(r *recoup.ReplayItem) *recoup.ID { return &r.WorkID }).Fixed(),
		sqldb.Int("round", func(r *recoup.ReplayItem) *int { return &r.Round }).Fixed(),
		sqldb.Text("stage", func(r *recoup.ReplayItem) *string { return &r.Stage }).Fixed(),
	}}

	// LetterParts are letters but for their errors: the dead letter d, its open item i
	// and its place in the queue w.
	LetterParts = slices.Concat(
		sqldb.Within("d.", DeadLetters.Columns, func(l *StagedWork) *recoup.DeadLetter { return &l.Dead }),
		sqldb.Within("i.", ReplayItems.Columns, func(l *StagedWork) *recoup.ReplayItem { return &l.Item }),
		sqldb.Within("w.", WorkQueue.Columns, func(l *StagedWork) *recoup.WorkItem { return &l.Queued }))
)
