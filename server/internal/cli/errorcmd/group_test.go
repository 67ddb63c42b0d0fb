package errorcmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// What a person sees who works with groups of errors and saved views.
func TestGroupsAndViewsTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	n.Must("jobs", "run", "counts")
	var found recoup.ErrorGroupPage
	clitest.Parse(t, n.Must("groups", "list", "--table", "outreach.dol_errors", "--code", "EIN_MISMATCH", "--json"), &found)
	if len(found.Groups) == 0 {
		t.Fatal("no group")
	}
	group := found.Groups[0].ID.String()
	seen := n.Transcript(
		[]string{"groups", "list", "--table", "people.people_errors"},
		[]string{"groups", "note", group, "--note", "the register is down; see INC-4711"},
		[]string{"groups", "assign", group[len(group)-8:], "--to", "grace"},
		[]string{"groups", "show", group},
		[]string{"groups", "show", "ffffff"},
		[]string{"errors", "list", "--group", group[len(group)-8:]},
		[]string{"errors", "park", "--group", group, "--reason", "known", "--dry-run"},
		[]string{"errors", "list", "--text", "another employer"},
		[]string{"errors", "list", "--view", "late"},
		[]string{"views", "list"},
		[]string{"views", "save", "late", "parked:yes"},
		[]string{"views", "save", "late", "parked:yes", "table:people.people_errors"},
		[]string{"views", "save", "wrong employer", "text:another employer", "--share", "dol-filings"},
		[]string{"views", "list", "--utc"},
		[]string{"views", "show", "late"},
		[]string{"errors", "list", "--view", "late"},
	)
	n.PassTime()
	clitest.Golden(t, "groups.golden", seen+n.Transcript(
		[]string{"errors", "resolve", "--view", "wrong employer", "--reason", "corrected", "--yes"},
		[]string{"errors", "list", "--view", "lte"},
		[]string{"views", "delete", "late"},
		[]string{"views", "delete", "late"},
	))
}

func TestGroupsAndViewsMisused(t *testing.T) {
	t.Parallel()
	for args, said := range map[string]string{
		"groups list --state BROKEN":                              `unknown state "BROKEN"`,
		"groups show nope":                                        `"nope" is not an id: expected a UUID or a ULID, or six or more characters of its beginning or end, as 'recoup groups list' prints them`,
		"groups note " + command.AnID:                             "--note is missing",
		"groups assign " + command.AnID:                           "--to is missing",
		"views save late":                                         "TOKEN is missing",
		"views save late parked":                                  `"parked": parked needs a value`,
		"views save late colour:red":                              "keys are state, table, hub",
		"views save late older:soon":                              "older is an age such as 30m, 12h or 7d",
		"errors list --view late --table x":                       "--view and another filter are given: expected one of the two",
		"errors park --view late --group 019c2a --reason x":       "--view and another filter are given",
		"errors list --archived --table x --view late":            "--view and another filter are given",
		"errors list --archived --table x --group 019c2a":         "--archived lists the archive of a --table, and takes no other filter",
		"errors park " + command.AnID + " --view late --reason x": "ids and a filter are given",
	} {
		_, stderr, status := clitest.Run(t, strings.Fields(args)...)
		if status != command.ExitUsage || !strings.Contains(stderr, said) {
			t.Errorf("%s: status %d, said %q, want %q", args, status, stderr, said)
		}
	}
}

// A view selects the same as the flags that say the same.
func TestViewsSelectWhatFlagsDo(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	n.Must("views", "save", "late", "parked:yes", "table:people.people_errors", "code:MISSING_NAME")
	byView, byFlags := n.IDs("--view", "late"), n.IDs("--parked", "--table", "people.people_errors", "--code", "MISSING_NAME")
	if len(byView) == 0 || !slices.Equal(byView, byFlags) {
		t.Errorf("by the view %v, by flags %v", byView, byFlags)
	}
}
