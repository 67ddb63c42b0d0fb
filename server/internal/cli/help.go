package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// usageTemplate is what help prints below the description of a command. Flags
// are wrapped to the page's width. The examples come last, where the eye is when
// it has been printed.
const usageTemplate = `Usage:
  {{with index .Annotations "use"}}{{.}}
  {{end}}{{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

'{{.CommandPath}} COMMAND --help' explains a command.{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}
`

// wrapHelp wraps the descriptions of a command and of those it holds.
func wrapHelp(cmd *cobra.Command) {
	cmd.Long = command.WrapHelp(cmd.Long)
	for _, sub := range cmd.Commands() {
		wrapHelp(sub)
	}
}

// helpCommand replaces cobra's, which accepts words it does not know.
func helpCommand(example string) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command, as its --help does",
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return command.UsageError{Err: err}
			case len(rest) > 0:
				return command.Stray(asked, rest[0])
			}
			asked.InitDefaultHelpFlag() // so that it is listed
			return asked.Help()
		},
	}
}

// shells are those that a program completes its commands for: what loads the script of
// recoup into a running one, and where the next one finds it.
var shells = map[string]struct{ load, file string }{
	"bash":       {"source <(recoup completion bash)", "~/.local/share/bash-completion/completions/recoup"},
	"zsh":        {"source <(recoup completion zsh)", `"${fpath[1]}/_recoup"`},
	"fish":       {"recoup completion fish | source", "~/.config/fish/completions/recoup.fish"},
	"powershell": {"recoup completion powershell | Out-String | Invoke-Expression", "recoup.ps1"},
}

// addCompletion adds cobra's command for shells in our words, and has it refuse
// arguments as the others do.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args, cmd.RunE = command.NoArgs, command.Help
		cmd.Short = "Print a completion script for a shell"
		cmd.Long = `Prints a script that completes commands, flags and their values in a shell. Tables, codes, states,
rules, batches and recent ids come from the server that --server or RECOUP_SERVER names.`
		own := func(text string) string { return strings.ReplaceAll(text, "recoup", root.Name()) }
		cmd.Example = own("  recoup completion bash > " + shells["bash"].file)
		for _, shell := range cmd.Commands() {
			name := shell.Name()
			shell.Args = command.NoArgs
			shell.Short = "Print the script for " + name
			shell.Long = "Prints the script for " + name + ". To load it into the current shell:\n\n  " + own(shells[name].load) + "\n\nTo load it in every new shell, write it to a file, as in the example."
			shell.Example = own("  recoup completion " + name + " > " + shells[name].file)
		}
	}
}
