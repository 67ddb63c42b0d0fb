package command

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	stamped := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: version}, Settings: settings}
	}
	for _, row := range []struct {
		build *debug.BuildInfo
		want  string
	}{
		{stamped("v1.2.3", debug.BuildSetting{Key: "vcs.revision", Value: "fbed91e9"}, debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
			"recoup v1.2.3, revision fbed91e9, go1.26.8"},
		{stamped("(devel)", debug.BuildSetting{Key: "vcs.revision", Value: "fbed91e9"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
			"recoup (devel), revision fbed91e9 with changes, go1.26.8"},
		{stamped("", debug.BuildSetting{Key: "GOOS", Value: "linux"}), "recoup (devel), revision unknown, go1.26.8"},
	} {
		if got := versionOf(row.build).String(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
