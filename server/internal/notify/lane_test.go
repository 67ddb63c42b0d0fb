package notify

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A channel that already has as much as it can send refuses the next batch. The batch is tried
// again later.
func TestLaneIsBounded(t *testing.T) {
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	l := &lane{name: "chat", busy: true} // nothing is taken from its queue
	full := batch{list: make([]outgoing, claimSize)}
	for range maxQueue / claimSize {
		if off := l.take(t.Context(), now, full); off != nil {
			t.Fatalf("refused with %d queued", l.queued)
		}
	}
	off := l.take(t.Context(), now, batch{list: make([]outgoing, 1)})
	if len(off) != 1 || l.queued != maxQueue || len(l.queue) != maxQueue/claimSize {
		t.Errorf("%d refused, %d queued, want 1 and %d", len(off), l.queued, maxQueue)
	}
}

// Notices of a kind that is digested wait for the end of their interval. Pages, and notices that
// were sent to one channel by hand, do not wait.
func TestDigestAt(t *testing.T) {
	rules := &policy.Notifications{Digests: map[wire.NoticeKind]time.Duration{wire.NoticeParked: 15 * time.Minute}}
	at := time.Date(2026, 2, 2, 9, 1, 0, 0, time.UTC)
	parked := outgoing{}
	parked.Kind, parked.CreatedAt = wire.NoticeParked, at
	toOne := parked
	toOne.channel = "chat"
	escalated := parked
	escalated.Kind = wire.NoticeEscalated
	for name, c := range map[string]struct {
		notice  outgoing
		urgency policy.Urgency
		want    time.Time
	}{
		"digested":         {parked, policy.Info, at.Truncate(15 * time.Minute).Add(15 * time.Minute)},
		"a page":           {parked, policy.Page, time.Time{}},
		"to one channel":   {toOne, policy.Info, time.Time{}},
		"without a digest": {escalated, policy.Info, time.Time{}},
	} {
		if got := digestAt(rules, &c.notice, c.urgency); !got.Equal(c.want) {
			t.Errorf("%s: sent at %s, want %s", name, got, c.want)
		}
	}
}
