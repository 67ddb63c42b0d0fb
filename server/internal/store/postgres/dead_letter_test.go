package postgres_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	conformance.RunDeadLetters(t, func(t *testing.T) conformance.DeadLetters {
		_, app := pgtest.Migrated(t)
		return open(t, app)
	})
}

var letterTables = []string{
	"dead_letter", "dead_letter_round", "dead_letter_note", "dead_letter_group", "dead_letter_count",
	"work", "work_due", "work_payload", "replay", "replay_item", "replay_count",
}

// letterSQL is a session of somebody else who looks at staged work.
type letterSQL struct{ plainSQL }

func (p letterSQL) Dump() string {
	var b strings.Builder
	for _, table := range letterTables {
		lines := p.strings("select t::text from recoup." + table + " t order by 1")
		if len(lines) == 0 {
			p.Fatalf("%s has no rows", table)
		}
		b.WriteString(table + ":\n" + strings.Join(lines, "\n") + "\n")
	}
	return b.String()
}

// What is forbidden is forbidden to nodes. The schema's owner may delete replays
// that have ended, because purges run with its rights.
func TestLetterActs(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	var truncated []string
	for _, table := range letterTables {
		truncated = append(truncated, "truncate recoup."+table)
	}
	raw := letterSQL{connect(t, app)}
	conformance.RunLetterActs(t, open(t, app), raw, truncated...)

	// Who archives an error ends its dead letter and its place in a replay, or may not.
	archive := func(stage, letters string) error {
		const ids = "array(select error_id from recoup.dead_letter where stage = '%stage')"
		return raw.Try(strings.NewReplacer("%letters", letters, "%stage", stage).Replace(`select recoup.archive(` + ids + `, '{0}', null,
			'[{"place": 0, "table_name": "pipeline.dead_letters", "policy_version": "1.0.0", "archived_by": "me", "archive_reason": "MANUAL",
			"kept_us": 63072000000000, "input": "archive", "decided_by": "1.0.0"}]', recoup.clock(), %letters)`))
	}
	if err := archive("new", "array(select error_id from recoup.dead_letter where stage = 'new')"); err != nil {
		t.Errorf("with its end: %v", err)
	}
	for stage, why := range map[string]string{"new": "its dead letter is open", "pending": "it is part of a replay"} {
		if err := archive(stage, "'{}'"); err == nil || !raw.Refused(err) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: answered with %v, want a refusal because of %q", stage, err, why)
		}
	}
}
