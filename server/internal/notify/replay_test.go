package notify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The notification of a replay that stopped itself says why, what is left, and
// where to look.
func TestReplayStopped(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		const id = "0198c0de-0000-7000-8000-000000000001"
		w.enqueue(notice(wire.NoticeReplayStopped, "platform-team",
			`{"replay_id":"`+id+`","why":"the same class came back: 1 of 1 results of the ramp stage canary","members":10000,"left":9999,"created_by":"ada@example.com"}`))
		w.run()
		w.pending(0)
		said := fmt.Sprint(w.got(w.chat, 1))
		for _, want := range []string{
			"1 replay stopped, waiting for you", "the same class came back: 1 of 1 results of the ramp stage canary",
			"9999 of 10000 items are left", "recoup replays show " + id,
		} {
			if !strings.Contains(said, want) {
				t.Errorf("nobody is notified %q: %s", want, said)
			}
		}
		if strings.Contains(said, "ada@example.com") {
			t.Error("a person is named")
		}
	})
}
