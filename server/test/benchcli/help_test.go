package benchcli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/benchcli"
)

// commands returns the root and the commands of a benchmark below it.
func commands() []*cobra.Command {
	root := benchcli.Root(command.Streams{In: new(bytes.Buffer), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
	list := []*cobra.Command{root}
	for _, sub := range root.Commands() {
		if sub.Name() != "completion" {
			list = append(list, sub)
		}
	}
	return list
}

func TestHelpText(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, cmd := range commands() {
		words := strings.Fields(cmd.CommandPath())[1:]
		help, said, status := run(t, append(words, "--help")...)
		if status != command.ExitDone || said != "" {
			t.Errorf("%v --help ends with %d: %s", words, status, said)
		}
		if asked, _, status := run(t, append([]string{"help"}, words...)...); asked != help || status != command.ExitDone {
			t.Errorf("help %v prints %q", words, asked)
		}
		all.WriteString("$ " + cmd.CommandPath() + " --help\n\n" + help + "\n")
	}
	for line := range strings.Lines(all.String()) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.HelpWidth || strings.HasSuffix(line, " ") {
			t.Errorf("too long, or blanks at its end: %q", line)
		}
	}
	clitest.Golden(t, "help.golden", all.String())
}

// The examples end before they begin: only their flags and arguments are checked.
func TestHelpExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	over, end := context.WithCancel(t.Context())
	end()
	for _, cmd := range commands() {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			words, ok := strings.CutPrefix(line, "  recoup-bench ")
			if !ok {
				t.Errorf("%s: the example does not begin with recoup-bench: %s", cmd.CommandPath(), line)
			}
			var out, said bytes.Buffer
			if benchcli.Run(over, strings.Fields(words), command.Streams{In: new(bytes.Buffer), Out: &out, Err: &said}) == command.ExitUsage {
				t.Errorf("%s: the example is refused: %s", line, &said)
			}
		}
	}
}

// Messages and completion scripts name this program.
func TestNamesItself(t *testing.T) {
	t.Parallel()
	if _, said, status := run(t, "compare", "none.json", "none.json"); status != command.ExitRefused || !strings.HasPrefix(said, "recoup-bench: ") {
		t.Errorf("it ends with %d, and says %q", status, said)
	}
	if _, said, _ := run(t, "cmpare"); said != "recoup-bench: unknown command \"cmpare\" for \"recoup-bench\": did you mean compare?\nRun 'recoup-bench --help' for the list\n" {
		t.Errorf("it says %q", said)
	}
	if script, _, status := run(t, "completion", "bash"); status != command.ExitDone || !strings.Contains(script, "recoup-bench") {
		t.Errorf("the script ends with %d", status)
	}
	if help, _, _ := run(t, "completion", "fish", "--help"); !strings.Contains(help, "  recoup-bench completion fish > ~/.config/fish/completions/recoup-bench.fish") {
		t.Errorf("it says %s", help)
	}
}
