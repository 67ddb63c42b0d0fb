package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	conformance.RunDeadLetters(t, func(t *testing.T) conformance.DeadLetters { return open(t) })
}

// letterSQL spells statements about staged work for SQLite.
type letterSQL struct{ plainSQL }

func (p letterSQL) Try(text string) error {
	return p.plainSQL.Try(strings.ReplaceAll(text, "recoup.", ""))
}

func (p letterSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{
		"dead_letter", "dead_letter_round", "dead_letter_note", "dead_letter_group", "dead_letter_count",
		"work", "work_payload", "replay", "replay_item", "replay_count",
	} {
		rows, err := p.db.QueryContext(p.Context(), "select * from "+table+" order by 1, 2, 3")
		if err != nil {
			p.Fatal(err)
		}
		b.WriteString(table + ":\n" + strings.Join(p.lines(rows), "\n") + "\n")
	}
	return b.String()
}

// replacingLetters are ways in which a row could be replaced without being
// deleted by name.
func replacingLetters() []string {
	var list []string
	for _, verb := range []string{"insert or replace", "replace", "insert or ignore", "insert"} {
		for _, table := range []string{
			"dead_letter", "dead_letter_round", "dead_letter_note", "dead_letter_group", "work", "work_payload", "replay", "replay_item",
		} {
			list = append(list, verb+" into "+table+" select * from "+table)
		}
		list = append(list,
			verb+` into dead_letter (error_id, work_id, pipeline, stage, error_class, signature, group_id, step, round, first_failure_at,
				last_failure_at, created_at, updated_at) select a.error_id, n.work_id, n.pipeline, n.stage, n.error_class, n.signature, n.group_id,
				'NEW', 1, n.first_failure_at, n.last_failure_at, n.created_at, n.updated_at from dead_letter n, dead_letter a
				where n.stage = 'new' and a.stage = 'archived'`,
			verb+` into replay_item (replay_id, position, error_id, work_id, round, stage, state)
				select r.replay_id, 0, i.error_id, i.work_id, i.round, i.stage, 'PENDING' from replay r, replay_item i
				where r.state = 'COLLECTING' and i.stage = 'pending'`,
			verb+` into work_payload (rowid, work_id, key_id, sealed, at) select p.rowid, w.work_id, 'k', x'00', 1
				from work_payload p, work w where w.stage = 'released'`)
	}
	return append(list,
		`insert or replace into dead_letter_note (seq, error_id, step, actor, at) select -1, error_id, 'X', 'me', 1 from dead_letter`,
		`update or replace dead_letter set work_id = (select work_id from dead_letter where stage = 'new') where stage = 'valid'`,
		`update or replace replay_item set position = 0`,
		`update or ignore replay_item set state = 'FAILED' where state = 'SUCCEEDED'`)
}

func TestLetterActs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recoup.db")
	raw := letterSQL{connect(t, path)}
	conformance.RunLetterActs(t, openAt(t, path), raw, replacingLetters()...)

	// Who archives an error ends its dead letter and its place in a replay, or may not.
	archive := func(stage, ends string) error {
		where := ` where error_id = (select error_id from dead_letter where stage = '` + stage + `')`
		return raw.Try(`update tally set batch = 1; ` + archiveOf(`e.error_id, e.table_name`) + where + `; ` + ends + `; delete from error` + where)
	}
	const closed = `update dead_letter set closed_at = 1 where stage = 'new'`
	if err := archive("new", closed); err != nil {
		t.Errorf("with its end: %v", err)
	}
	for stage, why := range map[string]string{"new": "its dead letter is open", "pending": "part of a replay"} {
		if err := archive(stage, ""); err == nil || !raw.Refused(err) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: answered with %v, want a refusal because of %q", stage, err, why)
		}
	}
}
