package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(streams Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revision it was built from, and the version of Go",
		Example: `  recoup version
  recoup version --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return printVersion(streams, asJSON) },
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printVersion(streams Streams, asJSON bool) error {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	v := versionOf(build)
	if asJSON {
		return printJSON(streams.Out, v)
	}
	_, err := fmt.Fprintln(streams.Out, v)
	return err
}

// buildVersion is what the program knows of its own origin.
type buildVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified"` // the tree was not as the revision has it
	Go       string `json:"go"`
}

func versionOf(build *debug.BuildInfo) buildVersion {
	v := buildVersion{Version: cmp.Or(build.Main.Version, "(devel)"), Go: build.GoVersion}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v buildVersion) String() string {
	revision := cmp.Or(v.Revision, "unknown")
	if v.Modified {
		revision += " with changes"
	}
	return fmt.Sprintf("recoup %s, revision %s, %s", v.Version, revision, v.Go)
}

// ownVersion is the version of this binary in short.
func ownVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	return versionOf(build).Version
}
