package ledger

import (
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// What may differ between a node that has governed an event and one that reads it from
// the transport: their clocks, and how long it has waited there.
const (
	clockSlack = time.Hour
	onTheWay   = 8 * 24 * time.Hour
)

// Inspect says why events that came by the transport cannot have been governed: a program that may
// publish there can leave nodes out. It holds them to what the ledger promises of what it
// keeps, and leaves to the store what the store refuses, such as codes that nobody has
// registered. What it returns repeats nothing of an event.
func (g *Governor) Inspect(now time.Time, events []store.Event) error {
	known := newKnowledge()
	for i := range events {
		c := check{Governor: g, knowledge: known, now: now, out: &events[i]}
		if c.inspect(); c.reason != "" {
			return fmt.Errorf("event %d of %d was not governed: %s: %s", i+1, len(events), c.bad[0].Field, c.bad[0].Constraint)
		}
	}
	return nil
}

func (c *check) inspect() {
	e := c.out
	if e.ID.IsZero() || e.CorrelationID.IsZero() {
		c.refuse(DropID, "event_id", "required", "")
	}
	for _, code := range []string{string(e.Code), string(e.ReportedCode)} {
		if _, _, err := c.Registry.Fold(code); err != nil && code != "" {
			c.refuse(DropCode, "code", "format", "")
		}
	}
	if strings.TrimSpace(e.Service) == "" {
		c.refuse(DropService, "service", "required", "")
	}
	if strings.Contains(e.Endpoint, "?") {
		c.refuse(DropQuery, "endpoint", "query", "")
	}
	c.identifier("code", string(e.ReportedCode))
	c.identifier("service", e.Service)
	c.identifier("endpoint", e.Endpoint)
	c.identifier("region", e.Region)
	c.identifier("external_service", e.ExternalService)
	c.identifier("tenant_key", e.TenantKey)
	if (e.TenantHash == "") != (e.TenantKey == "") || e.TenantHash != "" && !hashLike(e.TenantHash) {
		c.refuse(DropText, "tenant_hash", "format", "")
	}
	if e.TS.Before(time.Unix(0, 0)) || e.TS.Before(c.now.Add(-c.Retention-onTheWay)) || e.TS.After(c.now.Add(ahead+clockSlack)) {
		c.refuse(DropTime, "ts", "range", "")
	}
	if e.HTTPStatus != 0 && (e.HTTPStatus < leastStatus || e.HTTPStatus > mostStatus) {
		c.refuse(DropStatus, "http_status", "range", "")
	}
	if _, dropped := c.Details.Apply(c.secrets, e.Details); len(dropped) > 0 {
		c.refuse(DropText, "details", "allowed", "")
	}
}

// hashLike reports whether a text has the form of what [Tenants.Hash] returns.
func hashLike(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
