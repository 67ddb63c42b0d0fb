package stream

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

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

// Ask asks a person for a line; input that has ended is an empty one.
func (s Streams) Ask(question string) string {
	line, _ := s.Answer(question)
	return line
}

// Answer asks a person for a line. It takes no more than that from the input: the next
// question finds its own answer there. Its error is [io.EOF] if the input has ended
// without one.
func (s Streams) Answer(question string) (string, error) {
	fmt.Fprint(s.Err, question)
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := s.In.Read(b)
		if n == 1 && b[0] == '\n' {
			break
		}
		if line = append(line, b[:n]...); err != nil {
			fmt.Fprintln(s.Err)
			if len(line) == 0 {
				return "", io.EOF
			}
			break
		}
	}
	return strings.TrimSpace(string(line)), nil
}
