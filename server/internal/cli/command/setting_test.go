package command_test

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/config"
)

// A setting that a part of the program adds has a flag, and its value is read.
func TestAddedSettings(t *testing.T) {
	t.Parallel()
	var received string
	streams := command.Streams{Config: config.Added{Settings: []config.Setting{{
		Name: "sample-rate", Env: "RECOUP_SAMPLE_RATE", Default: "1", Help: "`N` of the samples",
		Read: func(value string) error { received = value; return nil },
	}}}}
	cmd := &cobra.Command{Use: "serve"}
	read := command.SettingFlags(streams, cmd)
	if flag := cmd.Flags().Lookup("sample-rate"); flag == nil || flag.Usage != "`N` of the samples ($RECOUP_SAMPLE_RATE) (default 1)" {
		t.Fatalf("the flag is %+v", flag)
	}
	if err := cmd.ParseFlags([]string{"--sample-rate=7"}); err != nil {
		t.Fatal(err)
	}
	values, _, err := read()
	if err != nil || received != "7" || values.Get("sample-rate") != "7" {
		t.Errorf("received %q, got %q, %v", received, values.Get("sample-rate"), err)
	}
}
