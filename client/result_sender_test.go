package client

import (
	"testing"
	"testing/synctest"
)

// TestGatherIsBounded takes no more results for a request than the server accepts, however many
// goroutines wait.
func TestGatherIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &resultSender{queue: make(chan pendingResult)}
		for range maxResults + 1 {
			go func() { s.queue <- pendingResult{} }()
		}
		synctest.Wait()
		if n := len(s.gather(<-s.queue)); n != maxResults {
			t.Errorf("one request carries %d results, at most %d are accepted", n, maxResults)
		}
		if n := len(s.gather(<-s.queue)); n != 1 {
			t.Errorf("the next one carries %d, 1 was left", n)
		}
	})
}
