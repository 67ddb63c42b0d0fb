package command

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Version is what the program knows of its own origin.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified"` // the tree was not as the revision has it
	Go       string `json:"go"`
}

// OwnVersion is the version of this binary.
func OwnVersion() Version {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	return versionOf(build)
}

func versionOf(build *debug.BuildInfo) Version {
	v := Version{Version: cmp.Or(build.Main.Version, "(devel)"), Go: build.GoVersion}
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

func (v Version) String() string {
	revision := cmp.Or(v.Revision, "unknown")
	if v.Modified {
		revision += " with changes"
	}
	return fmt.Sprintf("recoup %s, revision %s, %s", v.Version, revision, v.Go)
}
