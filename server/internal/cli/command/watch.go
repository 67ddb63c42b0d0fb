package command

import (
	"bytes"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// clearScreen moves a terminal to its top left and empties it.
const clearScreen = "\x1b[H\x1b[2J"

// Watch is a screen that is drawn again and again.
type Watch struct{ every string }

// Add adds the flag.
func (w *Watch) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.every, "watch", "", "show it again every `DURATION`, such as 10s, until interrupted")
}

// On reports whether the screen is drawn more than once.
func (w *Watch) On() bool { return w.every != "" }

// Run draws once, or with --watch until the context ends. Nobody sees half a screen: it
// is drawn when it is complete. A failure that comes after the first screen is
// shown below the last one, and the next one is tried all the same.
func (w *Watch) Run(ctx context.Context, s *Session, draw func() error) error {
	every, err := w.interval()
	if err != nil || every == 0 {
		if err == nil {
			err = draw()
		}
		return err
	}
	terminal := s.Streams
	defer func() { s.Streams = terminal }()
	sleep := terminal.Sleep
	if sleep == nil {
		sleep = retry.Sleep
	}
	for first := true; ; first = false {
		var screen, notes bytes.Buffer
		s.Out, s.Err, s.Terminal = &screen, &notes, false
		err := draw()
		if ctx.Err() != nil {
			return nil // an interrupt is how watching ends
		}
		if err != nil && first {
			return err
		}
		s.Streams = terminal
		if err != nil {
			s.Notef("%s: %v\nThe next try is in %s.", s.ProgramName(), err, stream.Age(every))
		} else {
			s.showScreen(screen.Bytes(), notes.Bytes())
		}
		if sleep(ctx, every) != nil {
			return nil
		}
	}
}

// showScreen shows what was drawn, in the place of what was shown before. A terminal
// that is gone shows nothing.
func (s *Session) showScreen(screen, notes []byte) {
	if s.Width > 0 && !s.Machine() {
		screen = append([]byte(clearScreen), screen...)
	}
	_, _ = s.Out.Write(screen)
	_, _ = s.Err.Write(notes)
}

// interval reads how often a screen is shown again; nothing is once.
func (w *Watch) interval() (time.Duration, error) {
	if !w.On() {
		return 0, nil
	}
	d, err := policy.ParseDuration(w.every)
	if err != nil || d < time.Second {
		return 0, Usagef("--watch %q is not possible: expected a duration of a second or more, such as 10s", w.every)
	}
	return d, nil
}
