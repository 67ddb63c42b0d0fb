package endtoend

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/test/chaos"
)

// mailbox is sent notifications. It keeps all of them, and says of one in eight that
// it has not, for as long as faults happen: what fails again and again is sent again after
// minutes only.
type mailbox struct {
	*httptest.Server
	mu     sync.Mutex
	random *rand.Rand
	healed bool
	got    []chaos.SentMessage
}

// heal has it take everything from now on.
func (m *mailbox) heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.healed = true
}

func newMailbox(t *testing.T, seed uint64) *mailbox {
	t.Helper()
	m := &mailbox{random: rand.New(rand.NewPCG(seed, 23))}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID    recoup.ID `json:"id"`
			Items []struct {
				ID recoup.ID `json:"notice_id"`
			} `json:"items"`
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable) // it was cut off
			return
		}
		if key := r.Header.Get("Idempotency-Key"); key != message.ID.String() {
			t.Errorf("the message %s has the key %s", message.ID, key)
		}
		sent := chaos.SentMessage{ID: message.ID}
		for _, item := range message.Items {
			sent.Notices = append(sent.Notices, item.ID)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.got = append(m.got, sent)
		if !m.healed && m.random.IntN(8) == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(m.Close)
	return m
}
