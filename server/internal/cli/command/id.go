package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
)

// subject is what a command is about, so that a failure can name the way out in
// its terms.
type subject struct {
	command string // its path, such as "recoup dead-letters triage"
	listed  string // the command that prints what it takes, if it says so itself
	state   string // the command that prints the state that refused an act, if it says so itself
	name    string // the one thing that it was given; empty: none, or several
}

func subjectOf(cmd *cobra.Command, args []string) subject {
	s := subject{command: cmd.CommandPath(), listed: annotation(cmd, ListedBy), state: annotation(cmd, StateBy)}
	if len(args) == 1 {
		s.name = args[0]
	}
	return s
}

// Annotations of commands outside of the core. Those below a command inherit them.
const (
	ListedBy = "recoup:listed-by" // the command that prints what this one takes, such as "samples list"
	StateBy  = "recoup:state-by"  // a sentence about the command that shows why an act was refused
)

// annotation returns an annotation of a command, or of the nearest above that has it.
func annotation(cmd *cobra.Command, name string) string {
	for ; cmd != nil; cmd = cmd.Parent() {
		if text := cmd.Annotations[name]; text != "" {
			return text
		}
	}
	return ""
}

// about reports whether the command is that one, or one of its own.
func (s subject) about(command string) bool {
	return strings.HasPrefix(s.command+" ", "recoup "+command+" ")
}

// id is what the command was given, as it goes into another command line.
func (s subject) id() string { return cmp.Or(Printable(s.name), "ID") }

// lists says which command prints what others take, the narrower ones first.
var lists = [][2]string{
	{"alerts unsilence", "alerts silences --past"}, {"alerts", "alerts list"},
	{"dead-letters", "dead-letters list"},
	{"errors", "errors list"},
	{"groups", "groups list"},
	{"jobs", "jobs list"},
	{"keys tenant", "keys tenant list"}, {"keys payload", "keys payload list"}, {"keys", "keys list"},
	{"notifications", "notifications list"},
	{"providers", "providers list"},
	{"replays", "replays list"},
	{"work", "work paused"},
}

// list is the command that prints what this one takes; empty if there is none.
func (s subject) list() string {
	if s.listed != "" {
		return "recoup " + s.listed
	}
	for _, l := range lists {
		if s.about(l[0]) {
			return "recoup " + l[1]
		}
	}
	return ""
}

// BadID is a word that is not an id. Which list it should come from, the command
// knows, unless it is said here.
type BadID struct{ Word, List string }

func (e BadID) Error() string {
	text := fmt.Sprintf("%q is not an id: expected a UUID or a ULID, or six or more characters of its beginning or end", e.Word)
	if e.List != "" {
		text += ", as '" + e.List + "' prints them"
	}
	return text
}

// explain completes what was said of a bad or an unknown id.
func (s subject) explain(err error) error {
	if bad, ok := errors.AsType[BadID](err); ok {
		bad.List = cmp.Or(bad.List, s.list())
		return UsageError{Err: bad}
	}
	if unknown, ok := errors.AsType[UnknownID](err); ok {
		unknown.List = cmp.Or(unknown.List, s.list())
		return unknown
	}
	return err
}

// FlagID reads an id that a flag gives.
func FlagID(flag, text string) (recoup.ID, error) {
	id, err := recoup.ParseID(text)
	if err != nil {
		return id, Usagef("--%s %q is not an id: expected a UUID or a ULID", flag, text)
	}
	return id, nil
}

// AnID is an id in examples.
const AnID = "01KGN4T9ZC3M8P2Q5R7S9V1WXY"
