package slices_test

import (
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/slices"
)

// The configuration and the commands of a program have what each slice adds, in the order of
// the slices.
func TestAdded(t *testing.T) {
	t.Parallel()
	list := []slice.Slice{
		{Settings: []config.Setting{{Name: "one"}}, Receivers: []push.Kind{{Name: "samples", Noun: "things", Fields: []config.Field{{Name: "batch"}}, Outcomes: []string{"pass"}}}},
		{},
		{Settings: []config.Setting{{Name: "two"}}, Commands: func(s stream.Streams) []*cobra.Command {
			return []*cobra.Command{{Use: "samples of " + s.Program}}
		}},
	}
	added := slices.Config(list)
	if len(added.Settings) != 2 || added.Settings[0].Name != "one" || added.Settings[1].Name != "two" {
		t.Errorf("the settings are %+v", added.Settings)
	}
	if got := fmt.Sprint(added.Receivers); got != "[{samples things [{batch false false }]}]" {
		t.Errorf("the receivers are %s", got)
	}
	if commands := slices.Commands(list, stream.Streams{Program: "recoup"}); len(commands) != 1 || commands[0].Use != "samples of recoup" {
		t.Errorf("the commands are %+v", commands)
	}
}
