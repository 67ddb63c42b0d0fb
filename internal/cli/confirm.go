package cli

import (
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
	line := s.ask(fmt.Sprintf("%s Type %s to go on: ", question, answer))
	if line == answer {
		return nil
	}
	return errors.New("not confirmed: nothing was done")
}

// ask asks a person for a line. It takes no more than that from the input: the next
// question finds its own answer there.
func (s Streams) ask(question string) string {
	fmt.Fprint(s.Err, question)
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := s.In.Read(b)
		if n == 1 && b[0] == '\n' {
			break
		}
		if line = append(line, b[:n]...); err != nil {
			fmt.Fprintln(s.Err)
			break
		}
	}
	return strings.TrimSpace(string(line))
}
