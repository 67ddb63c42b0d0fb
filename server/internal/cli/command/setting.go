package command

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/config"
)

// SettingFlags adds a flag for every setting, or for the named ones, and returns
// how to read the configuration once the flags are parsed.
func SettingFlags(streams Streams, cmd *cobra.Command, only ...string) func() (config.Values, app.Options, error) {
	given := map[string]*string{}
	for _, s := range streams.Config.In(app.Settings(&app.Options{})) {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		help := s.Help + " ($" + s.Env + ")"
		if s.Default != "" {
			help += " (default " + s.Default + ")"
		}
		given[s.Name] = cmd.Flags().String(s.Name, "", help)
		if s.Switch {
			cmd.Flags().Lookup(s.Name).NoOptDefVal = "true"
		}
	}
	file := cmd.Flags().String("config", "", "configuration `FILE`, with NAME: VALUE in each line ($RECOUP_CONFIG)")
	return func() (config.Values, app.Options, error) {
		flags := map[string]string{}
		for name, value := range given {
			if cmd.Flags().Changed(name) {
				flags[name] = *value
			}
		}
		if *file == "" {
			*file = os.Getenv("RECOUP_CONFIG")
		}
		values, options, err := app.ReadConfig(flags, os.LookupEnv, *file, streams.Config)
		if err != nil {
			err = UsageError{Err: err}
		}
		return values, options, err
	}
}
