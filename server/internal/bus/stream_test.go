package bus

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream that was made elsewhere is accepted only if it keeps messages as safely as ours.
func TestJudge(t *testing.T) {
	want := jetstream.StreamConfig{Name: Stream, Replicas: 3, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, Retention: jetstream.WorkQueuePolicy, MaxAge: time.Hour}
	for name, c := range map[string]struct {
		change func(*jetstream.StreamConfig)
		ok     bool
	}{
		"the same":                {func(*jetstream.StreamConfig) {}, true},
		"more replicas":           {func(s *jetstream.StreamConfig) { s.Replicas = 5 }, true},
		"keeps messages for ever": {func(s *jetstream.StreamConfig) { s.MaxAge = 0 }, true},
		"too few replicas":        {func(s *jetstream.StreamConfig) { s.Replicas = 1 }, false},
		"in memory":               {func(s *jetstream.StreamConfig) { s.Storage = jetstream.MemoryStorage }, false},
		"discards old messages":   {func(s *jetstream.StreamConfig) { s.Discard = jetstream.DiscardOld }, false},
		"another retention":       {func(s *jetstream.StreamConfig) { s.Retention = jetstream.LimitsPolicy }, false},
		"too short an age":        {func(s *jetstream.StreamConfig) { s.MaxAge = time.Minute }, false},
	} {
		got := want
		c.change(&got)
		if err := judge(want, got); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
