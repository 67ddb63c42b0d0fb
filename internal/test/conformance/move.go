package conformance

import (
	"strings"
	"testing"

	"recoup"
)

// Mover moves errors to the archive by plain SQL, as somebody else's program
// would.
type Mover interface {
	// Columns returns the columns of the archive.
	Columns() []string

	// TryMove moves an entity's only error to the archive and gives it these
	// columns with these values, which are columns of the error, {id} for a fresh
	// id, {time} for some time, {hour} for an hour, or what SQL has in common. If it succeeds, it is
	// undone.
	TryMove(entity, columns, values string) error

	// Try runs a statement on the tables {error} and {archive} and, if it
	// succeeds, undoes it.
	Try(sql string) error

	// Refused reports whether an error says that the rules forbid a statement,
	// rather than that it is wrong.
	Refused(err error) bool
}

// move is a way into the archive: whose error, and what it is to have there
// beside what is right.
type move struct {
	entity string
	set    map[string]string
}

func (m move) try(raw Mover) error {
	columns := raw.Columns()
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = m.value(column)
	}
	return raw.TryMove(m.entity, strings.Join(columns, ", "), strings.Join(values, ", "))
}

func (m move) value(column string) string {
	if value, ok := m.set[column]; ok {
		return value
	}
	switch column {
	case "state":
		return "'ARCHIVED'"
	case "blocking", "replaceable":
		return "false"
	case "archived_at":
		return "{time}"
	case "purge_at":
		return "{time} + 17520 * {hour}"
	case "archived_by":
		return "'ada'"
	case "archive_reason":
		return "case state when 'RESOLVED' then 'RESOLVED' else 'MANUAL' end"
	case "final_disposition":
		return "disposition"
	case "superseded_by":
		return "null"
	}
	return column
}

// RunMoves tries by plain SQL what may go to the archive and what may not: an
// error goes there as what it was. The same is refused by every store, and
// nothing changes.
func RunMoves(t *testing.T, s Store, raw Mover) {
	d := NewDriver(t, s)
	d.moveScene()
	for _, m := range forbiddenMoves() {
		if err := m.try(raw); err == nil || !raw.Refused(err) {
			t.Errorf("%s, archived with %v: answered with %v, want a refusal", m.entity, m.set, err)
		}
	}
	for _, m := range allowedMoves() {
		if err := m.try(raw); err != nil {
			t.Errorf("%s, archived with %v: answered with %v", m.entity, m.set, err)
		}
	}
	back := `insert into {error} (error_id, table_name, entity_id, code, policy_version, state, disposition, blocking)
		select error_id, table_name, entity_id, code, policy_version, 'RETRY_PENDING', 'RETRY', true from {archive}`
	if err := raw.Try(back); err == nil || !raw.Refused(err) {
		t.Errorf("an archived error came back: %v", err)
	}
	d.Check()
}

// moveScene makes one error in each of the states that errors leave from, named
// after it, and one that is in the archive already.
func (d *Driver) moveScene() {
	d.Helper()
	report := func(table, entity string) recoup.ID {
		return d.Report(table, entity, "NETWORK_TIMEOUT", recoup.Medium).ID
	}
	report(dol, "open")
	report(masterLog, "kept")
	d.Park(report(dol, "parked"), "look")
	d.Resolve(report(dol, "resolved"))
	d.Archive(report(dol, "archived"))
}

func forbiddenMoves() []move {
	list := []move{
		{"kept", nil},
		{"open", map[string]string{"disposition": "'RESOLVED'", "final_disposition": "'RESOLVED'"}},
		{"open", map[string]string{"archive_reason": "'SUPERSEDED'"}},
		{"parked", map[string]string{"archive_reason": "'RESOLVED'"}},
		{"resolved", map[string]string{"archive_reason": "'MANUAL'"}},
		{"resolved", map[string]string{"archive_reason": "'MANUAL'", "disposition": "'RETRY'", "final_disposition": "'RETRY'"}},
	}
	add := func(entity string, columns map[string]string) {
		for column, value := range columns {
			list = append(list, move{entity, map[string]string{column: value}})
		}
	}
	add("open", map[string]string{
		"table_name": "'people.people_errors'", "reported_table": "'no.such_table'", "entity_id": "null", "code": "'OTHER'",
		"created_at": "{time} - {hour}", "correlation_id": "{id}", "policy_version": "null", "final_disposition": "'IGNORE'",
		"superseded_by": "{id}", "archive_reason": "'BECAUSE'", "state": "'RETRY_PENDING'", "blocking": "true", "replaceable": "true",
	})
	add("parked", map[string]string{"entity_id": "'else'", "final_disposition": "'ARCHIVE'"})
	add("resolved", map[string]string{
		"severity": "'LOW'", "category": "'STRUCTURAL'", "class": "'fatal'", "message": "'rewritten'", "policy_version": "'9.9.9'",
		"retry_count": "1", "max_retries": "9", "parked_at": "{time}", "parked_by": "'mallory'", "park_reason": "'LATER'",
		"escalation_level": "3", "resolved_at": "{time} - {hour}", "resolved_by": "'mallory'", "resolution_reason": "'rewritten'",
	})
	return list
}

// allowedMoves are the same ways without what is wrong with them, or the others
// prove nothing.
func allowedMoves() []move {
	return []move{
		{"open", nil},
		{"open", map[string]string{"message": "'corrected'"}},
		{"open", map[string]string{"archive_reason": "'SUPERSEDED'", "superseded_by": "{id}"}},
		{"parked", nil},
		{"resolved", nil},
	}
}
