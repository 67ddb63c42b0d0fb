package events

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// The bounds of what is sent at once, and of what people are shown of refused lines.
const (
	BatchSize  = 500
	MaxLine    = 16 << 10
	shownLines = 10
)

func send(streams command.Streams) *cobra.Command {
	return command.Act[sent]{
		Call: func(ctx context.Context, s *command.Session, _ []string) (sent, error) {
			sum, err := sendAll(ctx, s)
			if err != nil && sum.Accepted > 0 {
				s.Notef("%s stored before it failed:", command.Count(sum.Accepted, "event"))
			}
			return sum, err
		},
		Say:    saySent,
		Failed: func(sum sent) bool { return sum.Refused > 0 },
	}.Command(streams, &cobra.Command{
		Use:   "send",
		Short: "Add events to the ledger: NDJSON from standard input",
		Long: `Adds events to the ledger, one JSON object a line: code and service, and if known ts,
correlation_id, endpoint, http_status, region, external_service, tenant, details and event_id.
Lines with an event_id may be sent again: the ledger stores each once.

It ends when all are stored. The exit status is 1 if any was refused.`,
		Example: `  recoup events send < events.ndjson`,
	})
}

// sent is what became of the lines.
type sent struct {
	Accepted int               `json:"accepted"`
	Refused  int               `json:"refused"`
	Lines    []command.Refused `json:"refused_lines,omitempty"` // the first hundred of each batch
	Dropped  map[string]int    `json:"dropped,omitempty"`
}

// sendAll reads and sends in batches, so that the input may be of any length.
func sendAll(ctx context.Context, s *command.Session) (sent, error) {
	advance, end := s.ShowProgress("sending")
	defer end()
	var sum sent
	lines := &eventReader{r: bufio.NewReaderSize(s.In, MaxLine)}
	for {
		batch, err := lines.next(BatchSize)
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

func (sum *sent) add(done recoup.EventsAccepted, lines []int) {
	sum.Accepted += done.Accepted
	sum.Refused += done.NRefused
	for _, r := range done.Refused {
		var failure fault.Error
		line := command.Refused{Reason: "refused"}
		if json.Unmarshal(r.Failure, &failure) == nil {
			line.Reason = command.Reason(&failure)
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
			return eventLines{}, fmt.Errorf("standard input:%d: longer than %d bytes, which no event is", r.line, MaxLine)
		case errors.Is(err, io.EOF):
			return batch, nil
		case err != nil:
			return eventLines{}, fmt.Errorf("standard input: %w", err)
		}
	}
	return batch, nil
}

func saySent(s *command.Session, sum sent) {
	s.Sayf("%s stored.", command.Count(sum.Accepted, "event"))
	for reason, n := range sum.Dropped {
		s.Notef("Removed from them: %d by %s.", n, command.Printable(reason))
	}
	if sum.Refused > 0 {
		s.Notef("%d refused:", sum.Refused)
		s.NoteRefused("standard input", sum.Lines, sum.Refused, shownLines)
	}
}
