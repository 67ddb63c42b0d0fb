package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do not ask for a confirmation, for scripts")
}

// askable refuses what needs a confirmation where there is nobody to ask and
// --yes has not answered before.
func (s Streams) askable(yes bool) error {
	if yes || s.Interactive {
		return nil
	}
	return errors.New("this needs a confirmation, and there is no terminal to ask on: --yes says that it is meant")
}

// confirm asks a person to type what shows that the question was read.
func (s Streams) confirm(question, answer string) error {
	fmt.Fprintf(s.Err, "%s Type %s to go on: ", question, answer)
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if strings.TrimSpace(line) == answer {
		return nil
	}
	if err != nil {
		fmt.Fprintln(s.Err)
	}
	return errors.New("not confirmed: nothing was done")
}
