package cli_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/spf13/cobra"
)

// everyCommand returns the words of every command that people can call.
func everyCommand() []string {
	var paths []string
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		paths = append(paths, strings.TrimPrefix(cmd.CommandPath(), "recoup"))
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(cli.Root(command.Streams{In: new(bytes.Buffer), Out: new(bytes.Buffer), Err: new(bytes.Buffer)}))
	return paths
}

func TestMisusedCommands(t *testing.T) {
	for _, row := range []struct {
		args   string
		stderr string
	}{
		{"codes list extra", "recoup: unexpected argument \"extra\"\nRun 'recoup codes list --help' for usage\n"},
		{"codes export extra", "recoup: unexpected argument \"extra\"\nRun 'recoup codes export --help' for usage\n"},
		{"codes show A B", "recoup: unexpected argument \"B\"\nRun 'recoup codes show --help' for usage\n"},
		{"policy schema extra", "recoup: unexpected argument \"extra\"\nRun 'recoup policy schema --help' for usage\n"},
		{"policy show extra", "recoup: unexpected argument \"extra\"\nRun 'recoup policy show --help' for usage\n"},
		{"version extra", "recoup: unexpected argument \"extra\"\nRun 'recoup version --help' for usage\n"},
		{"completion bash extra", "recoup: unexpected argument \"extra\"\nRun 'recoup completion bash --help' for usage\n"},
		{"polcy", "recoup: unknown command \"polcy\" for \"recoup\": did you mean policy?\nRun 'recoup --help' for the list\n"},
		{"policy shwo", "recoup: unknown command \"shwo\" for \"recoup policy\": did you mean show?\nRun 'recoup policy --help' for the list\n"},
		{"codes exp", "recoup: unknown command \"exp\" for \"recoup codes\": did you mean export?\nRun 'recoup codes --help' for the list\n"},
		{"completion fsh", "recoup: unknown command \"fsh\" for \"recoup completion\": did you mean fish?\nRun 'recoup completion --help' for the list\n"},
		{"zzzzzz", "recoup: unknown command \"zzzzzz\" for \"recoup\"\nRun 'recoup --help' for the list\n"},
		{"help zzyzx", "recoup: unknown command \"zzyzx\" for \"recoup\"\nRun 'recoup --help' for the list\n"},
		{"help polic", "recoup: unknown command \"polic\" for \"recoup\": did you mean policy?\nRun 'recoup --help' for the list\n"},
		{"help codes shw", "recoup: unknown command \"shw\" for \"recoup codes\": did you mean show?\nRun 'recoup codes --help' for the list\n"},
		{"help codes show more", "recoup: unexpected argument \"more\"\nRun 'recoup codes show --help' for usage\n"},
	} {
		out, stderr, status := clitest.Run(t, strings.Fields(row.args)...)
		if status != command.ExitUsage || stderr != row.stderr || out != "" {
			t.Errorf("%s: status %d, said %q, want %q; printed %q", row.args, status, stderr, row.stderr, out)
		}
	}
}

// Three ways to ask for help give the same answer.
func TestHelpIsOne(t *testing.T) {
	for _, path := range everyCommand() {
		words := strings.Fields(path)
		flag, _, status := clitest.Run(t, append(words, "--help")...)
		if status != command.ExitDone || flag == "" {
			t.Errorf("recoup%s --help ends with %d", path, status)
		}
		if said, stderr, status := clitest.Run(t, append([]string{"help"}, words...)...); said != flag || stderr != "" || status != command.ExitDone {
			t.Errorf("recoup help%s: status %d, %s\n%s\nwant\n%s", path, status, stderr, said, flag)
		}
	}
	flag, _, _ := clitest.Run(t, "--help")
	if plain, _, status := clitest.Run(t); plain != flag || status != command.ExitDone {
		t.Errorf("recoup alone does not print its help:\n%s", plain)
	}
}

// What a stranger reads is looked at as a whole.
func TestHelpText(t *testing.T) {
	var all strings.Builder
	for _, path := range everyCommand() {
		help, _, _ := clitest.Run(t, append(strings.Fields(path), "--help")...)
		if !strings.Contains(help, "\nExamples:\n") {
			t.Errorf("the help of recoup%s has no examples", path)
		}
		all.WriteString("$ recoup" + path + " --help\n\n" + help + "\n")
	}
	for line := range strings.Lines(all.String()) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.HelpWidth || strings.HasSuffix(line, " ") {
			t.Errorf("too long, or blanks at its end: %q", line)
		}
	}
	clitest.Golden(t, "help.golden", all.String())
}

// Every example can be run as it stands, if its files and its server exist. The
// examples end before they begin, because some of them would run for ever.
func TestHelpExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	over, end := context.WithCancel(t.Context())
	end()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			text, _, _ := strings.Cut(line, "#")
			if i := strings.IndexAny(text, "<>"); i >= 0 {
				text = text[:i]
			}
			words, ok := strings.CutPrefix(text, "  recoup ")
			if !ok {
				t.Errorf("%s: the example does not begin with recoup: %s", cmd.CommandPath(), line)
			}
			var out, stderr bytes.Buffer
			if cli.Run(over, shellWords(words), command.Streams{In: new(bytes.Buffer), Out: &out, Err: &stderr}) == command.ExitUsage {
				t.Errorf("%s: the example is refused: %s", line, &stderr)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(cli.Root(command.Streams{In: new(bytes.Buffer), Out: new(bytes.Buffer), Err: new(bytes.Buffer)}))
}

// shellWords splits a line as a shell does: at blanks, but not within quotes.
func shellWords(line string) []string {
	var list []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

// Help speaks of nobody's own tables: the names of the specification are in its example alone.
func TestHelpHasNoNamesOfTheSpecification(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`(?i)outreach|\bdol\b|dol_|\bCO-\d|\bEIN_|filing|criticizer`)
	for _, path := range everyCommand() {
		help, _, _ := clitest.Run(t, append(strings.Fields(path), "--help")...)
		if found := names.FindAllString(help, -1); found != nil {
			t.Errorf("recoup%s --help mentions %q", path, found)
		}
	}
}
