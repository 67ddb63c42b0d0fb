package notify_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Messages of one kind to one team that failed one after the other, although they had
// arrived, or that waited for a channel that was left alone, or whose node died when
// it had sent them again, come again as they were, also where all of them are due by
// then: nothing makes one message of them, under an id that nobody knows.
func TestMessagesStayApart(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.hook.now(status(http.StatusBadGateway))
		for range 8 { // the channel is left alone after the third
			w.enqueue(notice(recoup.NoticeEscalated, "dol-filings-lead", ""), notice(recoup.NoticeEscalated, "dol-filings-lead", ""))
			w.run()
			w.Wait(time.Millisecond)
		}
		w.hook.now(nil)
		w.Wait(time.Hour)
		dying := w.dispatcher(&faulty{Store: db, finish: func(context.Context, time.Time, []store.Delivery) (int, error) { return 0, errors.New("died") }})
		if err := dying.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		dying.Wait()
		w.Wait(time.Hour)
		w.run()
		w.pending(0)
		came := map[any]any{}
		for _, m := range w.hook.bodies() {
			for _, item := range m["items"].([]any) {
				notice := item.(map[string]any)["notice_id"]
				if before, again := came[notice]; again && before != m["id"] {
					t.Errorf("%v came in the message %v and in the message %v", notice, before, m["id"])
				}
				came[notice] = m["id"]
			}
		}
		if len(came) != 16 {
			t.Errorf("%d notices came of 16", len(came))
		}
	})
}
