package api_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// BenchmarkDecodeEvents reads a batch of 5,000 events, half of them with details.
func BenchmarkDecodeEvents(b *testing.B) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	for _, e := range conformance.SampleEvents(5000, conformance.Epoch(), time.Microsecond) {
		e.Tenant = "acme"
		if err := encoder.Encode(e.Event); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if batch, unknown, err := api.DecodeEvents(lines, body.Bytes()); len(batch) != 5000 || unknown != 0 || err != nil {
			b.Fatal(len(batch), unknown, err)
		}
	}
}
