package sqlite

import (
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// ending is errors that one statement archives: they agree in what archiving adds.
type ending struct {
	store.Ending
	rows       numbers
	successors []byte // in the order of rows, of what was superseded
	unblocks   bool   // one of them blocks
}

// endings gathers errors by what archiving adds to them.
type endings struct {
	at    time.Time
	list  []*ending
	known map[store.Ending]*ending
}

func (l *endings) add(row int64, as store.Ending, e *recoup.Error, successor recoup.ID) {
	g := l.known[as]
	if g == nil {
		if l.known == nil {
			l.known = map[store.Ending]*ending{}
		}
		g = &ending{Ending: as}
		l.known[as], l.list = g, append(l.list, g)
	}
	g.rows.add(row)
	g.unblocks = g.unblocks || e.Blocking
	if as.As == recoup.SupersededByNext {
		g.successors = append(g.successors, successor[:]...)
	}
}

// copy copies the errors to the archive as they are, with what archiving adds: the last
// row of their history, and the numbers of the gates that open, among it.
func (l *endings) copy(t *tx) error {
	for _, g := range l.list {
		if err := t.exec(drawTransitions, g.rows.n); err != nil {
			return err
		}
		if g.unblocks {
			if err := t.exec(drawNumbers, g.rows.n); err != nil {
				return err
			}
		}
		err := t.exec(copyEnding, g.rows.json(), g.rows.n, stamp{&l.at}, micros(l.at)+g.Kept, g.successors, g.By, string(g.As), g.Input,
			text[string]{&g.Reason}, g.DecidedBy, text[string]{&g.Worker}, stamp{&g.ClaimedAt}, id{&g.Attempt})
		if err != nil {
			return err
		}
	}
	return nil
}

// leave takes errors from their table that the archive has by now.
func (l *endings) leave(t *tx) error {
	for _, g := range l.list {
		if err := t.exec(deleteMoved, g.rows.json()); err != nil {
			return err
		}
	}
	return nil
}

// archive archives errors, and ends what hangs on the dead letters among them: the file
// refuses to leave one open behind.
func (t *tx) archive(ends []*store.End) error {
	var (
		all     endings
		letters []*recoup.Error
	)
	for _, end := range ends {
		row, err := t.rowOf(end.Left.ID)
		if err != nil {
			return err
		}
		all.at = end.Next.ArchivedAt
		all.add(row, store.EndingOf(end.Next, &end.History), &end.Left, end.Next.SupersededBy)
		if end.Close {
			letters = append(letters, end.Next)
		}
	}
	for _, part := range []func() error{
		func() error { return all.copy(t) },
		func() error { return t.closeLetters(letters) },
		func() error { return all.leave(t) },
		func() error { return t.destroyPayloads(letters) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// closeLetters closes the dead letters of errors that are archived, and takes them out
// of their replay and out of the queue. During a replay nothing expires: that is refused.
func (t *tx) closeLetters(letters []*recoup.Error) error {
	for _, e := range letters {
		texts := []string{`update dead_letter set closed_at = ?2, updated_at = ?2 where error_id = ?1 and closed_at is null`}
		if e.ArchiveReason != recoup.TTLExpired {
			texts = append([]string{
				`update replay_item set state = 'ARCHIVED', ended_at = ?2 where error_id = ?1 and state in ('PENDING', 'RELEASED')`,
				`delete from work where work_id = (select work_id from dead_letter where error_id = ?1) and error_id = ?1 and ?2`,
			}, texts...)
		}
		for _, text := range texts {
			if err := t.exec(text, id{&e.ID}, stamp{&e.ArchivedAt}); err != nil {
				return err
			}
		}
	}
	return nil
}

// destroyPayloads ends what the work of closed dead letters was about, unless it goes
// on.
func (t *tx) destroyPayloads(letters []*recoup.Error) error {
	for _, e := range letters {
		for _, table := range []string{"work_payload", "checkpoint"} {
			if err := t.exec(`delete from `+table+` where work_id = (select work_id from dead_letter where error_id = ?1)
				and not exists (select 1 from dead_letter d where d.work_id = `+table+`.work_id and d.closed_at is null)
				and not exists (select 1 from work w where w.work_id = `+table+`.work_id)`, id{&e.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	drawTransitions = `update sqlite_sequence set seq = seq + ? where name = 'transition'`
	drawNumbers     = `update gate_number set seq = seq + ?`
	deleteMoved     = `delete from error where rowid in (select value from json_each(?))`
)

// copyEnding is the statement of [endings.copy].
var copyEnding = func() string {
	values := map[string]string{
		"state": "'ARCHIVED'", "blocking": "0", "replaceable": "0", "updated_at": "?3", "archived_at": "?3", "archived_by": "?6", "archive_reason": "?7",
		"final_disposition": "e.disposition", "superseded_by": "substr(?5, 1 + 16 * j.key, 16)", "purge_at": "?4",
	}
	list := make([]string, len(archivedColumns))
	for i, c := range archivedColumns {
		if list[i] = values[c.name]; list[i] == "" {
			list[i] = "e." + c.name
		}
	}
	return `insert into error_archive (` + names(archivedColumns) + `, was_state, was_blocking, end_seq, end_input, end_reason, end_policy, end_worker,
			end_claimed_at, end_attempt, end_gate)
		select ` + strings.Join(list, ", ") + `, e.state, e.blocking,
			(select seq from sqlite_sequence where name = 'transition') - ?2 + 1 + j.key, ?8, ?9, ?10, ?11, ?12, ?13,
			case when e.blocking then (select seq from gate_number) - ?2 + 1 + j.key end
		from json_each(?1) j cross join error e on e.rowid = j.value`
}()
