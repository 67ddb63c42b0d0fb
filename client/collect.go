package client

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/recoup-dev/recoup"
)

// collectAll moves events from the buffer to the backlog, when there are enough
// of them for a batch or the first has waited long enough.
func (m *Emitter) collectAll(ctx context.Context) {
	for {
		select {
		case <-m.began:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(m.o.Interval)
		select {
		case <-m.filled:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		m.collect()
	}
}

// collect empties the buffer. Ids are made here, once for each event, because
// they cost more than Emit may.
func (m *Emitter) collect() {
	m.collecting.Lock()
	defer m.collecting.Unlock()
	m.mu.Lock()
	events := m.buffer
	m.buffer = m.spare
	m.mu.Unlock()
	lines, lost := m.encode(events)
	lost += m.backlog.put(lines)
	clear(events)
	m.spare = events[:0]
	if lost > 0 {
		m.mu.Lock()
		m.drop(lost)
		m.mu.Unlock()
	}
	signal(m.arrived)
}

// maxLine is the longest line that a server reads.
const maxLine = 16 << 10

// encode writes events as lines, and returns how many it could not.
func (m *Emitter) encode(events []recoup.Event) (lines []byte, lost int) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i := range events {
		m.c.complete(&events[i])
		before := out.Len()
		if err := enc.Encode(&events[i]); err != nil || out.Len()-before > maxLine {
			out.Truncate(before)
			lost++
		}
	}
	return out.Bytes(), lost
}
