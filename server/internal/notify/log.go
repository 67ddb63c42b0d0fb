package notify

import (
	"context"
	"log/slog"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// logChannel writes messages to the node's log. It never fails, which is why it
// stands in for channels that are missing.
type logChannel struct{ logger *slog.Logger }

// logLines is how many things an entry of the log lists.
const logLines = 5

func (l *logChannel) Send(ctx context.Context, m *Message) error {
	level := slog.LevelInfo
	if m.Urgency == policy.Page && !m.Ends() {
		level = slog.LevelWarn
	}
	lines, more := m.lines(logLines)
	about := make([]string, len(lines))
	for i, l := range lines {
		about[i] = l.String()
	}
	attrs := []slog.Attr{
		slog.String("kind", string(m.Kind)), slog.String("to", m.To), slog.String("urgency", string(m.Urgency)),
		slog.String("notice", m.ID.String()), slog.Any("about", about),
	}
	if more > 0 {
		attrs = append(attrs, slog.Int("more", more))
	}
	if len(lines) > 0 && len(lines[0].links) > 0 {
		attrs = append(attrs, slog.String("link", lines[0].links[0]))
	}
	if m.Test {
		attrs = append(attrs, slog.Bool("test", true))
	}
	l.logger.LogAttrs(ctx, level, "notice: "+m.Title, attrs...)
	return nil
}
