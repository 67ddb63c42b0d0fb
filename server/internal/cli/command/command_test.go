package command_test

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// A command joins those that a group has; a group joins the one that has its name.
func TestMerge(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "recoup"}
	own := command.Group(&cobra.Command{Use: "export", Example: "  recoup export events\n  recoup export rules"}, &cobra.Command{Use: "events"}, &cobra.Command{Use: "rules"})
	command.Merge(root, own)
	command.Merge(root, command.Group(&cobra.Command{Use: "export", Example: "  recoup export parquet"}, &cobra.Command{Use: "parquet"}))
	if got := root.Commands(); len(got) != 1 || got[0] != own {
		t.Fatalf("the root has %v", got)
	}
	if len(own.Commands()) != 3 || own.Example != "  recoup export events\n  recoup export parquet\n  recoup export rules" {
		t.Errorf("the group has %d commands, with the examples\n%s", len(own.Commands()), own.Example)
	}
	if found, _, err := root.Find([]string{"export", "parquet"}); err != nil || found.CommandPath() != "recoup export parquet" {
		t.Errorf("found %v, %v", found, err)
	}
}
