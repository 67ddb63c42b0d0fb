package app

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
)

// release is what a release is linked with: its version, revision and date, with
// spaces between them. The revision and the date that the go command has stamped the
// binary with win.
var release string //nolint:gochecknoglobals // the linker can set nothing else

// Version is what the program knows of its own origin.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Date     string `json:"date,omitempty"` // of the revision, as RFC 3339
	Modified bool   `json:"modified"`       // the tree was not as the revision has it
	Go       string `json:"go"`
}

// OwnVersion is the version of this binary.
func OwnVersion() Version {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	return versionOf(build, release)
}

func versionOf(build *debug.BuildInfo, release string) Version {
	linked := append(strings.Fields(release), "", "", "")
	v := Version{Version: build.Main.Version, Go: build.GoVersion}
	if linked[0] != "" {
		v.Version = linked[0] // a tag that the go command cannot see, without the history
	}
	if v.Version == "" || v.Version == "(devel)" {
		v.Version = "devel"
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	v.Revision, v.Date = cmp.Or(v.Revision, linked[1]), cmp.Or(v.Date, linked[2])
	return v
}

func (v Version) String() string {
	revision := cmp.Or(v.Revision, "unknown")
	if v.Modified {
		revision += " with changes"
	}
	if v.Date != "" {
		revision += " of " + v.Date
	}
	return fmt.Sprintf("recoup %s, revision %s, %s", v.Version, revision, v.Go)
}
