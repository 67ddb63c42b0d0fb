package conformance

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// SampleEvents returns events as they come: of forty codes and twenty services,
// half of them with details.
func SampleEvents(n int, from time.Time, apart time.Duration) []store.Event {
	ids, codes := recoup.NewIDSource(rand.Reader), fault.Default().All()
	list := make([]store.Event, n)
	for i := range list {
		ts := from.Add(time.Duration(i) * apart)
		list[i] = store.Event{
			Event: recoup.Event{
				ID: ids.New(ts), Code: codes[i*7%40].Code, CorrelationID: ids.New(ts), Service: fmt.Sprintf("service-%d", i*13%20),
				Endpoint: "GET /v1/things/{id}", HTTPStatus: 503, Region: "eu-west-1", TS: ts,
			},
			TenantHash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", TenantKey: "2026-01",
		}
		if i%2 == 0 {
			list[i].Details = map[string]any{"retryable": i%4 == 0, "limit": int64(i), "field": "name"}
		}
	}
	return list
}
