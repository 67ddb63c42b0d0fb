package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/fault"
)

// The bounds of what is sent at once.
const (
	eventBatch   = 500
	maxEventLine = 16 << 10
)

func eventsSend(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Add events to the ledger: NDJSON from standard input",
		Long: `Adds events to the ledger, one JSON object a line: code and service, and if known ts,
correlation_id, endpoint, http_status, region, external_service, tenant, details and
event_id. Lines with an event_id may be sent again: the ledger keeps each once.

It ends when all are stored. The exit status is 1 if any was refused.`,
		Example: `  recoup events send < events.ndjson`,
		Args:    noArgs,
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		sum, err := s.sendAll(ctx)
		if err != nil {
			if sum.Accepted > 0 {
				fmt.Fprintf(s.Err, "%s stored before it failed:\n", count(sum.Accepted, "event"))
			}
			return err
		}
		if s.json {
			err = printJSON(s.Out, sum)
		} else {
			s.printSent(sum)
		}
		if err == nil && sum.Refused > 0 {
			return errSilent
		}
		return err
	})
}

// sent is what became of the lines.
type sent struct {
	Accepted int            `json:"accepted"`
	Refused  int            `json:"refused"`
	Lines    []refusedLine  `json:"refused_lines,omitempty"` // the first hundred of each batch
	Dropped  map[string]int `json:"dropped,omitempty"`
}

type refusedLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// sendAll reads and sends in batches, so that the input may be of any length.
func (s *session) sendAll(ctx context.Context) (sent, error) {
	advance, end := s.progress("sending")
	defer end()
	var sum sent
	lines := &eventReader{r: bufio.NewReaderSize(s.In, maxEventLine)}
	for {
		batch, err := lines.next(eventBatch)
		if err != nil {
			return sum, err
		}
		if len(batch.events) == 0 {
			return sum, nil
		}
		done, err := s.SendEvents(ctx, batch.events)
		if err != nil {
			return sum, err
		}
		sum.add(done, batch.lines)
		advance(sum.Accepted+sum.Refused, -1)
	}
}

func (sum *sent) add(done client.EventsAccepted, lines []int) {
	sum.Accepted += done.Accepted
	sum.Refused += done.NRefused
	for _, r := range done.Refused {
		var failure fault.Error
		line := refusedLine{Reason: "refused"}
		if json.Unmarshal(r.Failure, &failure) == nil {
			line.Reason = reasonOf(&failure)
		}
		if r.Index >= 0 && r.Index < len(lines) {
			line.Line = lines[r.Index]
		}
		sum.Lines = append(sum.Lines, line)
	}
	for reason, n := range done.Dropped {
		if sum.Dropped == nil {
			sum.Dropped = map[string]int{}
		}
		sum.Dropped[reason] += n
	}
}

// reasonOf is a failure in one line.
func reasonOf(e *fault.Error) string {
	for _, f := range e.Fields() {
		return f.Message
	}
	return e.Message
}

// eventReader reads events, one a line, and remembers where they stood.
type eventReader struct {
	r    *bufio.Reader
	line int
}

type eventLines struct {
	events []recoup.Event
	lines  []int
}

// next returns up to n events, none at the end. A line that is no event ends the
// reading: what follows may be anything.
func (r *eventReader) next(n int) (eventLines, error) {
	var batch eventLines
	for len(batch.events) < n {
		line, err := r.r.ReadSlice('\n')
		r.line++
		if line = bytes.TrimSpace(line); len(line) > 0 && !errors.Is(err, bufio.ErrBufferFull) {
			var e recoup.Event
			if bad := json.Unmarshal(line, &e); bad != nil {
				return eventLines{}, fmt.Errorf("standard input:%d: not an event: %w", r.line, bad)
			}
			batch.events, batch.lines = append(batch.events, e), append(batch.lines, r.line)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return eventLines{}, fmt.Errorf("standard input:%d: longer than %d bytes, which no event is", r.line, maxEventLine)
		case errors.Is(err, io.EOF):
			return batch, nil
		case err != nil:
			return eventLines{}, fmt.Errorf("standard input: %w", err)
		}
	}
	return batch, nil
}

// shownRefusals is how many refused lines people are shown.
const shownRefusals = 10

func (s *session) printSent(sum sent) {
	fmt.Fprintf(s.Out, "%s stored.\n", count(sum.Accepted, "event"))
	for reason, n := range sum.Dropped {
		fmt.Fprintf(s.Err, "Left out of them: %d by %s.\n", n, printable(reason))
	}
	if sum.Refused == 0 {
		return
	}
	fmt.Fprintf(s.Err, "%d refused:\n", sum.Refused)
	for _, l := range sum.Lines[:min(len(sum.Lines), shownRefusals)] {
		fmt.Fprintf(s.Err, "standard input:%d: %s\n", l.Line, printable(l.Reason))
	}
	if rest := sum.Refused - min(len(sum.Lines), shownRefusals); rest > 0 {
		fmt.Fprintf(s.Err, "and %d more.\n", rest)
	}
}
