package postgres_test

import (
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// What a role was given ends with it: another role of its name reads nothing until it is given something.
func TestReadGrantsEndWithTheirRole(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	conformance.NewDriver(t, s).Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	owner.run("select recoup.enable_row_security()")
	name := member(t, owner, "again", "recoup_reader")
	allow := "select recoup.allow_read('" + name + "', 'hub', 'DOL Filings')"
	expect := func(want int, when string) {
		t.Helper()
		reader := role(t, owner, name)
		if got := ask[int](reader, "select count(*) from outreach.dol_errors"); got != want {
			t.Errorf("%s: %d errors, want %d", when, got, want)
		}
		must(t, reader.Close(t.Context()))
	}
	owner.run(allow)
	expect(1, "allowed")
	owner.run("drop role " + name)
	member(t, owner, "again", "recoup_reader")
	expect(0, "after the role was dropped and created")
	facts, err := s.Inspect(t.Context(), store.Inspection{})
	must(t, err)
	want := store.StaleReader{Reader: name, Kind: "hub", Name: "dol-filings", Fix: "select recoup.forbid_read('" + name + "', 'hub', 'dol-filings')"}
	if got := facts.Server.StaleReaders; len(got) != 1 || got[0] != want {
		t.Errorf("the doctor finds %+v, want %+v", got, want)
	}
	owner.run(allow)
	expect(1, "allowed again")
}

// A member of a role can become it, and change its settings. The doctor finds them, and its commands undo them.
func TestRoleSettingsAreCompared(t *testing.T) {
	t.Parallel()
	owner, s := afresh(t)
	here := "alter role recoup_writer in database " + owner.Config().Database + " "
	settings := func() []store.RoleSetting {
		t.Helper()
		facts, err := s.Inspect(t.Context(), store.Inspection{})
		must(t, err)
		return facts.Server.RoleSettings
	}
	if got := settings(); len(got) != 0 {
		t.Errorf("of a new database: %+v", got)
	}
	writer := role(t, owner, member(t, owner, "setting", "recoup_writer"))
	writer.run("set role recoup_writer; " + here + "set statement_timeout = 1; " + here + "set search_path = mallory, recoup; " + here + "set idle_in_transaction_session_timeout = 0")
	want := []store.RoleSetting{
		{Role: "recoup_writer", Name: "idle_in_transaction_session_timeout", Value: "0", Fix: here + "set idle_in_transaction_session_timeout = '30s'"},
		{Role: "recoup_writer", Name: "search_path", Value: "mallory, recoup", Fix: here + "set search_path = recoup, cl, public"},
		{Role: "recoup_writer", Name: "statement_timeout", Value: "1", Fix: here + "reset statement_timeout"},
	}
	if got := settings(); !slices.Equal(got, want) {
		t.Errorf("the doctor finds %+v, want %+v", got, want)
	}
	for _, s := range settings() {
		writer.run(s.Fix)
	}
	if got := settings(); len(got) != 0 {
		t.Errorf("after the fix: %+v", got)
	}
}
