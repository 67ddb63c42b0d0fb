package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// Failure is something that can be made to go wrong, to see what the service
// then says.
type Failure string

// The failures.
const (
	Maintenance Failure = "maintenance" // the service is down for two hours
	Overload    Failure = "overload"    // it has more to do than it can
	Database    Failure = "database"    // no connection to the database
	Verifier    Failure = "verifier"    // the verifier of e-mail addresses is down
	Queue       Failure = "queue"       // too many addresses wait to be verified
	Scraper     Failure = "scraper"     // the scraper does not answer in time
)

// AllFailures lists them.
func AllFailures() []Failure {
	return []Failure{Maintenance, Overload, Database, Verifier, Queue, Scraper}
}

// ParseFailure reads the name of a failure.
func ParseFailure(name string) (Failure, error) {
	if f := Failure(name); slices.Contains(AllFailures(), f) {
		return f, nil
	}
	return "", fmt.Errorf("unknown failure %q: expected one of %s", name, failureNames())
}

func failureNames() string {
	var names []string
	for _, f := range AllFailures() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// Failures remembers what is switched on. It is safe for concurrent use.
type Failures struct {
	now   func() time.Time
	mu    sync.Mutex
	since map[Failure]time.Time
}

// NewFailures returns switches that are all off.
func NewFailures(now func() time.Time) *Failures {
	return &Failures{now: now, since: map[Failure]time.Time{}}
}

// Switch turns a failure on or off.
func (f *Failures) Switch(name Failure, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if on {
		f.since[name] = f.now().UTC().Truncate(time.Second)
	} else {
		delete(f.since, name)
	}
}

// Since returns when a failure was switched on, and whether it was.
func (f *Failures) Since(name Failure) (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, on := f.since[name]
	return at, on
}

// On reports whether a failure is switched on.
func (f *Failures) On(name Failure) bool {
	_, on := f.Since(name)
	return on
}

// All returns what is switched on, and since when.
func (f *Failures) All() map[Failure]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.since)
}

// onLoopback lets in only who sits at this machine.
func onLoopback(h fault.HandlerFunc) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !peer.Addr().Unmap().IsLoopback() {
			return fault.New(fault.CodeInsufficientPermissions, "Failures are switched from this machine only.")
		}
		return h(w, r)
	})
}

func (s *server) listFailures(w http.ResponseWriter, _ *http.Request) error {
	return write(w, http.StatusOK, s.failures.All())
}

// switchFailure turns a failure on if the method is PUT, and else off.
func (s *server) switchFailure(w http.ResponseWriter, r *http.Request) error {
	name, err := ParseFailure(r.PathValue("name"))
	if err != nil {
		return fault.Validation(fault.FieldError{
			Field: "name", Value: r.PathValue("name"), Safe: true, Constraint: "enum", Message: "Expected one of " + failureNames() + ".",
		})
	}
	s.failures.Switch(name, r.Method == http.MethodPut)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
