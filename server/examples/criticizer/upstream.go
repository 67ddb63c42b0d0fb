package main

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// upstream is somebody else's service: it answers with what its script says for an
// item, once each, and then with 200. It counts what it was asked to do.
type upstream struct {
	name string

	mu      sync.Mutex
	scripts map[string][]int // statuses, by item; a negative one stays until it is repaired
	asked   map[string]int
	done    map[string]int    // by item: how often it did the work
	seen    map[string]string // by idempotency key: for which item
}

func newUpstream(name string, scripts map[string][]int) *upstream {
	return &upstream{name: name, scripts: scripts, asked: map[string]int{}, done: map[string]int{}, seen: map[string]string{}}
}

// call asks for work of an item. A key that was seen before changes nothing.
func (u *upstream) call(item, key string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked[item]++
	status := http.StatusOK
	if script := u.scripts[item]; len(script) > 0 {
		if status = script[0]; status > 0 {
			u.scripts[item] = script[1:]
		}
		status = max(status, -status)
	}
	if status == http.StatusOK {
		if _, again := u.seen[key]; !again {
			u.seen[key] = item
			u.done[item]++
		}
		return nil
	}
	return u.failure(status)
}

// failure is what a client of the upstream makes of its answer.
func (u *upstream) failure(status int) error {
	header := http.Header{}
	switch status {
	case http.StatusRequestTimeout:
		return fault.New(fault.CodeNetworkTimeout, "The %s did not answer in time.", u.name)
	case http.StatusTooManyRequests:
		header.Set("Retry-After", strconv.Itoa(1))
	case http.StatusUnavailableForLegalReasons:
		return fault.New(fault.CodeContentRejected, "The %s refuses this content.", u.name)
	}
	return fault.ClassifyResponse(status, header, nil, time.Time{}).Wrap(nil, "The %s answers %d.", u.name, status)
}

// repair ends whatever stayed broken.
func (u *upstream) repair() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.scripts)
}

// total is how often it did the work of an item.
func (u *upstream) total(item string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.done[item]
}

// tries is how often it was asked.
func (u *upstream) tries(item string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked[item]
}
