package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// pagerDutyURL takes events of the Events API v2.
const pagerDutyURL = "https://events.pagerduty.com/v2/enqueue"

// Bounds of PagerDuty's fields.
const (
	pagerSummary = 1024
	pagerKey     = 255
)

// pagerDuty triggers and resolves incidents. What belongs together has one key, so
// a hundred errors of one code are one incident, an event that is sent again
// changes nothing, and the end of an alert resolves what its beginning triggered.
type pagerDuty struct {
	*poster
	key    string // of the integration; a secret
	source string
}

type pagerEvent struct {
	RoutingKey string        `json:"routing_key"`
	Action     string        `json:"event_action"`
	DedupKey   string        `json:"dedup_key"`
	Client     string        `json:"client,omitempty"`
	Payload    *pagerPayload `json:"payload,omitempty"`
	Links      []pagerLink   `json:"links,omitempty"`
}

type pagerPayload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp string            `json:"timestamp"`
	Component string            `json:"component,omitempty"`
	Group     string            `json:"group,omitempty"`
	Class     string            `json:"class,omitempty"`
	Details   map[string]string `json:"custom_details,omitempty"`
}

type pagerLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// Send sends one event for each key, in order. If one fails the message is sent
// again as a whole, and PagerDuty passes over what it has.
func (p *pagerDuty) Send(ctx context.Context, m *Message) error {
	for _, event := range p.events(m) {
		body, err := json.Marshal(event)
		if err != nil {
			return unwritable()
		}
		if _, err := p.post(ctx, body, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *pagerDuty) events(m *Message) []pagerEvent {
	count := map[string]int{}
	for _, it := range m.Items {
		count[it.Key]++
	}
	var events []pagerEvent
	for i := range m.Items {
		if it := &m.Items[i]; count[it.Key] > 0 {
			events = append(events, p.event(m, it, count[it.Key]))
			count[it.Key] = 0
		}
	}
	if m.Test { // a test leaves no incident behind
		over := events[0]
		over.Action, over.Payload, over.Links = "resolve", nil, nil
		events = append(events, over)
	}
	return events
}

func (p *pagerDuty) event(m *Message, it *Item, count int) pagerEvent {
	e := pagerEvent{RoutingKey: p.key, Action: "trigger", DedupKey: dedupKey(it.Key), Client: "Recoup"}
	if m.Ends() {
		e.Action = "resolve"
		return e
	}
	summary := line{text: it.line(), count: count}.String()
	e.Payload = &pagerPayload{
		Summary: short(m.Title+": "+summary, pagerSummary), Source: p.source, Severity: pagerSeverity(m, it),
		Timestamp: m.At.UTC().Format(time.RFC3339), Component: it.Table, Group: it.Hub, Class: string(m.Kind),
		Details: map[string]string{"to": m.To, "message_id": m.ID.String(), "errors_or_alerts": strconv.Itoa(count)},
	}
	if it.Link != "" {
		e.Links = []pagerLink{{it.Link, "Open in Recoup"}}
	}
	return e
}

func dedupKey(key string) string {
	key = "recoup:" + key
	if len(key) <= pagerKey {
		return key
	}
	hash := sha256.Sum256([]byte(key))
	return "recoup:" + hex.EncodeToString(hash[:])
}

func pagerSeverity(m *Message, it *Item) string {
	switch {
	case m.Test:
		return "info"
	case it.Severity == string(wire.AlertCritical):
		return "critical"
	case m.Urgency == policy.Page:
		return "error"
	case m.Urgency == policy.Warning:
		return "warning"
	}
	return "info"
}
