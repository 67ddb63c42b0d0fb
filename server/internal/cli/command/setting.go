package command

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/app"
)

// SettingFlags adds a flag for every setting, or for the named ones, and returns
// how to read the configuration once the flags are parsed.
func SettingFlags(cmd *cobra.Command, only ...string) func() (app.Config, app.Options, error) {
	given := map[string]*string{}
	for _, s := range app.Settings() {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		help := s.Help + " ($" + s.Env + ")"
		if s.Default != "" {
			help += " (default " + s.Default + ")"
		}
		given[s.Name] = cmd.Flags().String(s.Name, "", help)
		if s.Switch() {
			cmd.Flags().Lookup(s.Name).NoOptDefVal = "true"
		}
	}
	file := cmd.Flags().String("config", "", "configuration `FILE`, with NAME: VALUE in each line ($RECOUP_CONFIG)")
	return func() (app.Config, app.Options, error) {
		flags := map[string]string{}
		for name, value := range given {
			if cmd.Flags().Changed(name) {
				flags[name] = *value
			}
		}
		if *file == "" {
			*file = os.Getenv("RECOUP_CONFIG")
		}
		config, options, err := app.ReadConfig(flags, os.LookupEnv, *file)
		if err != nil {
			err = UsageError{err}
		}
		return config, options, err
	}
}
