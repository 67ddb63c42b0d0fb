package cli

import (
	"github.com/spf13/cobra"
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
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

'{{.CommandPath}} COMMAND --help' explains a command.{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}
`

// ownUse is the annotation of a command that holds others and does something
// itself: how that is called.
const ownUse = "use"

// helpCommand replaces cobra's, which is content with words it does not know.
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
				return usageError{err}
			case len(rest) > 0:
				return stray(asked, rest[0])
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
			cmd.Args, cmd.RunE = noArgs, group
			for _, shell := range cmd.Commands() {
				shell.Args = noArgs
			}
		}
	}
}
