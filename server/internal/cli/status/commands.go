// Package status has the commands that an operator looks at first: 'recoup status', how things
// stand, 'recoup workers', who claims, and 'recoup audit', who did what.
package status

import (
	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{status(streams), workers(streams), audit(streams)}
}
