package api

import (
	"net/http"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

const (
	// overloadPause is how long callers stay away from a service that has more
	// to do than it can.
	overloadPause = 15 * time.Minute

	// maintenanceLength is how long maintenance takes once it has begun.
	maintenanceLength = 2 * time.Hour
)

// admit decides whether a request gets as far as its handler. What costs least
// to find out is asked first.
func (s *server) admit(r *http.Request, need Role) (call, error) {
	c := call{Request: r, now: s.now()}
	if err := s.maintenance(c.now); err != nil {
		return c, err
	}
	key, err := s.keys.authenticate(r.Header.Get("Authorization"), c.now)
	if err != nil {
		return c, err
	}
	c.key = key
	fault.Annotate(r.Context(), func(known *fault.Annotations) {
		known.APIKeyID, known.AccountID = key.Secret, key.Account // the key is kept obfuscated
		known.RequestSource = source(r.Header.Get("X-Request-Source"))
	})
	if err := s.rate.take(key.Account, c.now); err != nil {
		return c, err
	}
	if err := s.quota.take(key.Account, c.now); err != nil {
		return c, err
	}
	return c, key.permit(need)
}

// source names the programs that are known to call; what others say of
// themselves is not repeated in a log.
func source(header string) string {
	switch header {
	case "ingest-repo", "scraper-repo":
		return header
	}
	return "direct"
}

// maintenance returns TEMPORARY_UNAVAILABLE during a maintenance window, with
// the time until its end as retry_after.
func (s *server) maintenance(now time.Time) error {
	begin, on := s.failures.Since(Maintenance)
	end := begin.Add(maintenanceLength)
	if !on || !now.Before(end) {
		return nil
	}
	return fault.New(fault.CodeTemporaryUnavailable, "The service is down for maintenance.").
		With("maintenance_window", begin.Format(time.RFC3339)+" to "+end.Format(time.RFC3339)).
		With("expected_resolution", end.Format(time.RFC3339)).
		After(end.Sub(now))
}

func overloaded() error {
	return fault.New(fault.CodeServiceOverloaded, "More is being asked of the service than it can do.").After(overloadPause)
}
