package app

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	t.Parallel()
	stamped := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: version}, Settings: settings}
	}
	revision, date := debug.BuildSetting{Key: "vcs.revision", Value: "fbed91e9"}, debug.BuildSetting{Key: "vcs.time", Value: "2026-11-16T10:00:00Z"}
	for _, row := range []struct {
		build   *debug.BuildInfo
		release string
		want    string
	}{
		{stamped("v1.2.3", revision, date, debug.BuildSetting{Key: "vcs.modified", Value: "false"}), "",
			"recoup v1.2.3, revision fbed91e9 of 2026-11-16T10:00:00Z, go1.26.8"},
		{stamped("(devel)", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "", "recoup devel, revision fbed91e9 with changes, go1.26.8"},
		{stamped("", debug.BuildSetting{Key: "GOOS", Value: "linux"}), "", "recoup devel, revision unknown, go1.26.8"},
		{stamped("(devel)"), "v0.1.0 c0ffee 2026-11-16T11:00:00Z", "recoup v0.1.0, revision c0ffee of 2026-11-16T11:00:00Z, go1.26.8"},
		{stamped("(devel)", revision, date), "v0.1.0", "recoup v0.1.0, revision fbed91e9 of 2026-11-16T10:00:00Z, go1.26.8"},
	} {
		if got := versionOf(row.build, row.release).String(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
