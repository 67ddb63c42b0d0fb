package store

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/row"
)

// What the tables of staged work consist of.
var (
	// DeadLetters are the dead letters beside their errors.
	DeadLetters = row.Table[recoup.DeadLetter]{Name: "recoup.dead_letter", Columns: []row.Column[recoup.DeadLetter]{
		row.ID("error_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.ErrorID }).Key(),
		row.ID("work_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.WorkID }),
		row.Text("pipeline", func(d *recoup.DeadLetter) *string { return &d.Pipeline }),
		row.Text("stage", func(d *recoup.DeadLetter) *string { return &d.Stage }),
		row.Text("error_class", func(d *recoup.DeadLetter) *string { return (*string)(&d.Class) }),
		row.Text("signature", func(d *recoup.DeadLetter) *string { return &d.Signature }),
		row.ID("group_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.GroupID }),
		row.Text("step", func(d *recoup.DeadLetter) *string { return (*string)(&d.Step) }),
		row.Text("cause", func(d *recoup.DeadLetter) *string { return (*string)(&d.Cause) }),
		row.Bool("exhausted", func(d *recoup.DeadLetter) *bool { return &d.Exhausted }),
		row.Int("round", func(d *recoup.DeadLetter) *int { return &d.Round }),
		row.Time("first_failure_at", func(d *recoup.DeadLetter) *time.Time { return &d.FirstFailureAt }),
		row.Time("last_failure_at", func(d *recoup.DeadLetter) *time.Time { return &d.LastFailureAt }),
		row.Text("payload_ref", func(d *recoup.DeadLetter) *string { return &d.PayloadRef }),
		row.Text("payload_hash", func(d *recoup.DeadLetter) *string { return &d.PayloadHash }),
		row.ID("previous_id", func(d *recoup.DeadLetter) *recoup.ID { return &d.PreviousID }),
		row.Time("held_expiry", func(d *recoup.DeadLetter) *time.Time { return &d.HeldExpiry }),
		row.Time("created_at", func(d *recoup.DeadLetter) *time.Time { return &d.CreatedAt }),
		row.Time("updated_at", func(d *recoup.DeadLetter) *time.Time { return &d.UpdatedAt }),
		row.Time("closed_at", func(d *recoup.DeadLetter) *time.Time { return &d.ClosedAt }),
	}}

	// Rounds are the failures of dead letters.
	Rounds = row.Table[recoup.Round]{Name: "recoup.dead_letter_round", Columns: []row.Column[recoup.Round]{
		row.ID("error_id", func(r *recoup.Round) *recoup.ID { return &r.ErrorID }),
		row.Int("round", func(r *recoup.Round) *int { return &r.Round }),
		row.ID("replay_id", func(r *recoup.Round) *recoup.ID { return &r.ReplayID }),
		row.Text("stage", func(r *recoup.Round) *string { return &r.Stage }),
		row.Text("error_class", func(r *recoup.Round) *string { return (*string)(&r.Class) }),
		row.Text("signature", func(r *recoup.Round) *string { return &r.Signature }),
		row.Text("last_stack", func(r *recoup.Round) *string { return &r.LastStack }),
		row.JSON("context", func(r *recoup.Round) *string { return (*string)(&r.Context) }),
		row.Time("first_failure_at", func(r *recoup.Round) *time.Time { return &r.FirstFailureAt }),
		row.Time("last_failure_at", func(r *recoup.Round) *time.Time { return &r.LastFailureAt }),
		row.Time("at", func(r *recoup.Round) *time.Time { return &r.At }),
	}}

	// Notes are what people and the system noted.
	Notes = row.Table[recoup.Note]{Name: "recoup.dead_letter_note", Columns: []row.Column[recoup.Note]{
		row.Time("at", func(n *recoup.Note) *time.Time { return &n.At }),
		row.ID("error_id", func(n *recoup.Note) *recoup.ID { return &n.ErrorID }),
		row.ID("replay_id", func(n *recoup.Note) *recoup.ID { return &n.ReplayID }),
		row.ID("group_id", func(n *recoup.Note) *recoup.ID { return &n.GroupID }),
		row.Int("round", func(n *recoup.Note) *int { return &n.Round }),
		row.Text("step", func(n *recoup.Note) *string { return (*string)(&n.Step) }),
		row.Text("actor", func(n *recoup.Note) *string { return &n.Actor }),
		row.Text("note", func(n *recoup.Note) *string { return &n.Text }),
		row.Text("link", func(n *recoup.Note) *string { return &n.Link }),
		row.JSON("fields", func(n *recoup.Note) *string { return (*string)(&n.Fields) }),
	}}

	// Groups are the groups, but for their counts.
	Groups = row.Table[recoup.DeadLetterGroup]{Name: "recoup.dead_letter_group", Columns: []row.Column[recoup.DeadLetterGroup]{
		row.ID("group_id", func(g *recoup.DeadLetterGroup) *recoup.ID { return &g.ID }).Key(),
		row.Text("pipeline", func(g *recoup.DeadLetterGroup) *string { return &g.Pipeline }).Fixed(),
		row.Text("stage", func(g *recoup.DeadLetterGroup) *string { return &g.Stage }).Fixed(),
		row.Text("error_class", func(g *recoup.DeadLetterGroup) *string { return (*string)(&g.Class) }).Fixed(),
		row.Text("signature", func(g *recoup.DeadLetterGroup) *string { return &g.Signature }).Fixed(),
		row.Text("owner", func(g *recoup.DeadLetterGroup) *string { return &g.Owner }),
		row.Text("note", func(g *recoup.DeadLetterGroup) *string { return &g.Note }),
		row.Time("first_seen_at", func(g *recoup.DeadLetterGroup) *time.Time { return &g.FirstSeenAt }).Fixed(),
		row.Time("last_seen_at", func(g *recoup.DeadLetterGroup) *time.Time { return &g.LastSeenAt }).Fixed(),
	}}

	// Payloads are what work is done on.
	Payloads = row.Table[Payload]{Name: "recoup.work_payload", Columns: []row.Column[Payload]{
		row.ID("work_id", func(p *Payload) *recoup.ID { return &p.WorkID }).Key(),
		row.Text("key_id", func(p *Payload) *string { return &p.KeyID }),
		row.Bytes("sealed", func(p *Payload) *[]byte { return &p.Sealed }),
		row.Time("at", func(p *Payload) *time.Time { return &p.At }),
	}}

	// Checkpoints are the outputs of finished stages.
	Checkpoints = row.Table[Checkpoint]{Name: "recoup.checkpoint", Columns: []row.Column[Checkpoint]{
		row.ID("work_id", func(c *Checkpoint) *recoup.ID { return &c.WorkID }).Key(),
		row.Text("stage", func(c *Checkpoint) *string { return &c.Stage }).Key(),
		row.Text("key_id", func(c *Checkpoint) *string { return &c.KeyID }),
		row.Bytes("sealed", func(c *Checkpoint) *[]byte { return &c.Sealed }),
		row.Time("at", func(c *Checkpoint) *time.Time { return &c.At }),
	}}

	// WorkQueue is the queue.
	WorkQueue = row.Table[recoup.Work]{Name: "recoup.work", Columns: []row.Column[recoup.Work]{
		row.ID("work_id", func(q *recoup.Work) *recoup.ID { return &q.WorkID }).Key(),
		row.Text("stage", func(q *recoup.Work) *string { return &q.Stage }),
		row.Time("due_at", func(q *recoup.Work) *time.Time { return &q.DueAt }),
		row.ID("lease_token", func(q *recoup.Work) *recoup.ID { return &q.LeaseToken }),
		row.Text("lease_worker", func(q *recoup.Work) *string { return &q.LeaseWorker }),
		row.Time("leased_at", func(q *recoup.Work) *time.Time { return &q.LeasedAt }),
		row.Time("lease_ends_at", func(q *recoup.Work) *time.Time { return &q.LeaseEndsAt }),
		row.Int("claims", func(q *recoup.Work) *int { return &q.Claims }),
		row.Int("lapses", func(q *recoup.Work) *int { return &q.Lapses }),
		row.JSON("failures", func(q *recoup.Work) *string { return (*string)(&q.Failures) }),
		row.Text("pipeline", func(q *recoup.Work) *string { return &q.Pipeline }).Fixed(),
		row.Text("entity_id", func(q *recoup.Work) *string { return &q.EntityID }).Fixed(),
		row.Text("error_class", func(q *recoup.Work) *string { return (*string)(&q.Class) }).Fixed(),
		row.ID("replay_id", func(q *recoup.Work) *recoup.ID { return &q.ReplayID }).Fixed(),
		row.ID("error_id", func(q *recoup.Work) *recoup.ID { return &q.ErrorID }).Fixed(),
		row.Text("payload_ref", func(q *recoup.Work) *string { return &q.PayloadRef }).Fixed(),
		row.Text("payload_hash", func(q *recoup.Work) *string { return &q.PayloadHash }).Fixed(),
		row.Time("created_at", func(q *recoup.Work) *time.Time { return &q.CreatedAt }).Fixed(),
	}}

	// Pauses are what is not handed out for a while.
	Pauses = row.Table[recoup.WorkPause]{Name: "recoup.work_pause", Columns: []row.Column[recoup.WorkPause]{
		row.Word("pipeline", func(p *recoup.WorkPause) *string { return &p.Pipeline }).Key(),
		row.Word("stage", func(p *recoup.WorkPause) *string { return &p.Stage }).Key(),
		row.Word("error_class", func(p *recoup.WorkPause) *string { return (*string)(&p.Class) }).Key(),
		row.Word("paused_by", func(p *recoup.WorkPause) *string { return &p.By }),
		row.Word("reason", func(p *recoup.WorkPause) *string { return &p.Reason }),
		row.Time("paused_at", func(p *recoup.WorkPause) *time.Time { return &p.At }),
		row.Time("until", func(p *recoup.WorkPause) *time.Time { return &p.Until }),
	}}

	// Replays are the replays, but for their counts.
	Replays = row.Table[recoup.Replay]{Name: "recoup.replay", Columns: []row.Column[recoup.Replay]{
		row.ID("replay_id", func(r *recoup.Replay) *recoup.ID { return &r.ID }).Key(),
		row.Text("state", func(r *recoup.Replay) *string { return (*string)(&r.State) }),
		row.Text("hub", func(r *recoup.Replay) *string { return &r.Hub }),
		row.JSON("selection", func(r *recoup.Replay) *string { return (*string)(&r.Selection) }),
		row.Text("cursor", func(r *recoup.Replay) *string { return &r.Cursor }),
		row.JSONOf("plan", func(r *recoup.Replay) *recoup.ReplayPlan { return &r.Plan }),
		row.Int("members", func(r *recoup.Replay) *int { return &r.Members }),
		row.Int("phase", func(r *recoup.Replay) *int { return &r.Phase }),
		row.Time("phase_at", func(r *recoup.Replay) *time.Time { return &r.PhaseAt }),
		row.Time("next_at", func(r *recoup.Replay) *time.Time { return &r.NextAt }),
		row.Time("created_at", func(r *recoup.Replay) *time.Time { return &r.CreatedAt }),
		row.Text("created_by", func(r *recoup.Replay) *string { return &r.CreatedBy }),
		row.Text("reason", func(r *recoup.Replay) *string { return &r.Reason }),
		row.Time("state_at", func(r *recoup.Replay) *time.Time { return &r.StateAt }),
		row.Text("state_by", func(r *recoup.Replay) *string { return &r.StateBy }),
		row.Text("state_reason", func(r *recoup.Replay) *string { return &r.Why }),
		row.Time("started_at", func(r *recoup.Replay) *time.Time { return &r.StartedAt }),
		row.Time("ended_at", func(r *recoup.Replay) *time.Time { return &r.EndedAt }),
	}}

	// ReplayItems are the members of replays.
	ReplayItems = row.Table[recoup.ReplayItem]{Name: "recoup.replay_item", Columns: []row.Column[recoup.ReplayItem]{
		row.Int("position", func(r *recoup.ReplayItem) *int { return &r.Position }).Key(),
		row.ID("replay_id", func(r *recoup.ReplayItem) *recoup.ID { return &r.ReplayID }).Key(),
		row.Text("state", func(r *recoup.ReplayItem) *string { return (*string)(&r.State) }),
		row.Int("phase", func(r *recoup.ReplayItem) *int { return &r.Phase }),
		row.Time("released_at", func(r *recoup.ReplayItem) *time.Time { return &r.ReleasedAt }),
		row.Time("ended_at", func(r *recoup.ReplayItem) *time.Time { return &r.EndedAt }),
		row.Text("worker", func(r *recoup.ReplayItem) *string { return &r.Worker }),
		row.Text("error_class", func(r *recoup.ReplayItem) *string { return (*string)(&r.Class) }),
		row.Text("detail", func(r *recoup.ReplayItem) *string { return &r.Detail }),
		row.ID("error_id", func(r *recoup.ReplayItem) *recoup.ID { return &r.ErrorID }).Fixed(),
		row.ID("work_id", func(r *recoup.ReplayItem) *recoup.ID { return &r.WorkID }).Fixed(),
		row.Int("round", func(r *recoup.ReplayItem) *int { return &r.Round }).Fixed(),
		row.Text("stage", func(r *recoup.ReplayItem) *string { return &r.Stage }).Fixed(),
	}}

	// LetterParts are letters but for their errors: the dead letter d, its open item i
	// and its place in the queue w.
	LetterParts = slices.Concat(
		row.Within("d.", DeadLetters.Columns, func(l *StagedWork) *recoup.DeadLetter { return &l.Dead }),
		row.Within("i.", ReplayItems.Columns, func(l *StagedWork) *recoup.ReplayItem { return &l.Item }),
		row.Within("w.", WorkQueue.Columns, func(l *StagedWork) *recoup.Work { return &l.Queued }))
)
