package cli

import (
	"github.com/spf13/cobra"

	"recoup/internal/cli/command"
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
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command, as its --help does",
		Example: `  recoup help policy
  recoup help codes show`,
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

// addCompletion adds cobra's command for shells, out of sight, and has it refuse
// arguments as the others do.
func addCompletion(root *cobra.Command) {
	root.CompletionOptions.HiddenDefaultCmd = true
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			cmd.Args, cmd.RunE = command.NoArgs, command.Help
			for _, shell := range cmd.Commands() {
				shell.Args = command.NoArgs
			}
		}
	}
}
