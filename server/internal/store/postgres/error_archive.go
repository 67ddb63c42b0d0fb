package postgres

import (
	"encoding/json"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// archiving is a decision to archive, as recoup.archive takes it: what an error has to
// agree in, if it was made on another one, and what archiving adds.
type archiving struct {
	Place       int    `json:"place"`
	Table       string `json:"table_name"`
	Policy      string `json:"policy_version,omitempty"`
	State       string `json:"state,omitempty"`
	Blocking    bool   `json:"blocking"`
	Code        string `json:"code,omitempty"`
	LastFailure string `json:"last_failure_code,omitempty"`
	AssignedTo  string `json:"assigned_to,omitempty"`
	EscalatedTo string `json:"escalated_to,omitempty"`

	store.Ending
}

func newArchiving(was, next *recoup.Error, h *recoup.Transition) archiving {
	return archiving{Table: was.Table, Policy: was.PolicyVersion, Ending: store.EndingOf(next, h)}
}

// archiveAlike is the statement that archives errors by decisions that were made on
// others, and returns what it has archived as recoup.settle does.
const archiveAlike = `select array_agg(moved_id), array_agg(correlation), array_agg(null::text), array_agg(decision), max(moved_at), count(*), null
	from recoup.archive($1, null, null, $2, $3, null)`

func archiveArgs(at *time.Time, steps []*store.Step, decisions []*lifecycle.Decision) ([]any, error) {
	ids, list := make([][]byte, len(steps)), make([]archiving, len(decisions))
	for i, step := range steps {
		ids[i] = step.ID[:]
	}
	for i, d := range decisions {
		a, was := newArchiving(&d.Was, &d.Next, &d.Effects.History), &d.Was
		a.Place, a.State, a.Blocking, a.Code = i, string(was.State), was.Blocking, string(was.Code)
		a.LastFailure, a.AssignedTo, a.EscalatedTo = string(was.LastFailureCode), was.AssignedTo, was.EscalatedTo
		list[i] = a
	}
	text, err := json.Marshal(list)
	return []any{ids, string(text), at}, err
}

// writeEnds queues the way of errors to the archive. What became of one before, in the
// same act, is written before that, and so is one that no table has held yet.
func (s *Store) writeEnds(t *tx, w *store.UnitOfWork) {
	ends, changed, added := w.Ends()
	if len(ends) == 0 {
		return
	}
	if len(changed) > 0 {
		s.update(t, w, changed)
	}
	if len(added) > 0 {
		insertAll(t, "recoup.error", s.sql.stored, added)
	}
	s.archive(t, ends)
	if len(w.Late) > 0 {
		insert(t, "recoup.transition", s.sql.history, w.Late)
	}
	noteArchived(t, w.ArchivedByHand())
}

// archive queues the archiving of errors that are locked. Many agree in what was
// decided.
func (s *Store) archive(t *tx, ends []*store.End) {
	ids, successors, places := make([][]byte, len(ends)), make([][]byte, len(ends)), make([]int32, len(ends))
	var letters, replayed [][]byte
	var list []archiving
	known := map[archiving]int{}
	for i, end := range ends {
		a := newArchiving(&end.Left, end.Next, &end.History)
		place, ok := known[a]
		if !ok {
			place = len(list)
			known[a], list = place, append(list, a)
			list[place].Place = place
		}
		ids[i], places[i] = end.Next.ID[:], int32(place)
		if !end.Next.SupersededBy.IsZero() {
			successors[i] = end.Next.SupersededBy[:]
		}
		if end.Close {
			letters = append(letters, ids[i])
		}
		if end.Close && end.Next.ArchiveReason != recoup.TTLExpired { // during a replay nothing expires
			replayed = append(replayed, ids[i])
		}
	}
	decisions, err := json.Marshal(list)
	if err != nil {
		decisions = nil // of our own types, none fails; the database refuses the NULL
	}
	endWork(t, replayed, ends[0].Next.ArchivedAt)
	t.queue("select from recoup.archive($1, $2, $3, $4, $5, $6)", ids, places, successors, string(decisions), ends[0].Next.ArchivedAt, letters)
	destroyPayloads(t, letters)
}

// endWork queues the end of what hangs on dead letters that are closed: their place in
// a replay, and in the queue.
func endWork(t *tx, letters [][]byte, at time.Time) {
	if len(letters) == 0 {
		return
	}
	t.queue(`update recoup.replay_item set state = 'ARCHIVED', ended_at = $2 where error_id = any ($1::uuid[]) and state in ('PENDING', 'RELEASED')`, letters, at)
	t.queue(`with gone as (delete from recoup.work where error_id = any ($1::uuid[])
			and work_id = any (array(select work_id from recoup.dead_letter where error_id = any ($1::uuid[]))) returning pipeline, stage, replay_id, due_at, work_id)
		delete from recoup.work_due d using gone g
		where (d.pipeline, d.stage, d.replay_id, d.due_at, d.work_id) = (g.pipeline, g.stage, g.replay_id, g.due_at, g.work_id)`, letters)
}

// destroyPayloads queues the end of what the work of closed dead letters was about,
// unless it goes on.
func destroyPayloads(t *tx, letters [][]byte) {
	if len(letters) == 0 {
		return
	}
	const over = ` where work_id = any (array(select o.work_id from recoup.dead_letter o where o.error_id = any ($1::uuid[])
		and not exists (select from recoup.dead_letter d where d.work_id = o.work_id and d.closed_at is null)
		and not exists (select from recoup.work q where q.work_id = o.work_id)))`
	t.queue("delete from recoup.work_payload"+over, letters)
	t.queue("delete from recoup.checkpoint"+over, letters)
}
