package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// YesFlag adds the flag that answers a confirmation beforehand.
func YesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "skip the confirmation, for scripts")
}

// Askable refuses what needs a confirmation where there is nobody to ask and
// --yes has not answered before.
func (s Streams) Askable(yes bool) error {
	if yes || s.Interactive {
		return nil
	}
	return errors.New("this needs a confirmation, and standard input is not a terminal: repeat it with --yes")
}

// Confirm asks a person to type what shows that the question was read.
func (s Streams) Confirm(question, answer string) error {
	if s.Ask(fmt.Sprintf("%s Type %s to go on: ", question, answer)) == answer {
		return nil
	}
	return ErrNotConfirmed
}

// ErrNotConfirmed ends an act that a person did not confirm.
var ErrNotConfirmed = errors.New("not confirmed: nothing was changed")

// Ask asks a person for a line. It takes no more than that from the input: the next
// question finds its own answer there.
func (s Streams) Ask(question string) string {
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
