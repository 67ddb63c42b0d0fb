package bus

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// onBus is what is known of a bus that nothing is wrong with, and what a test changes.
func onBus(change func(*facts)) *facts {
	good := serverFacts{Name: "bus1", Version: "2.15.2", SyncAlways: true}
	b := &facts{Bus: Bus{Enabled: true, Up: true, Stream: BusStream{Bytes: 700, MaxBytes: 1000, Followers: []BusPeer{{Name: "bus2", Current: true}}}},
		Monitored: true, Servers: []serverFacts{good, good}}
	change(b)
	return b
}

// Each of these is found, and nothing else; of a bus that nothing is wrong with, and of none, nothing is.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known    *facts
		severity wire.FindingSeverity
		evidence string
	}{
		"a bus that is away":                 {onBus(func(b *facts) { b.Up, b.Cause = false, "the bus is away" }), wire.FindingWarning, "go to the database directly"},
		"a permission of the bus is missing": {onBus(func(b *facts) { b.Cause = "the bus is away: it refuses this node" }), wire.FindingCritical, "not all that this node asks"},
		"a bus that does not sync":           {onBus(func(b *facts) { b.Servers[1].SyncAlways = false }), wire.FindingCritical, "every two minutes"},
		"a bus that nobody watches":          {onBus(func(b *facts) { b.Monitored, b.Servers = false, nil }), wire.FindingNote, "not known whether"},
		"a server of the bus that is silent": {onBus(func(b *facts) { b.Servers[1] = serverFacts{Name: "http://h:8222", Problem: "refused"} }), wire.FindingWarning, "cannot be read: refused"},
		"a server of the bus that is old":    {onBus(func(b *facts) { b.Servers[1].TooOld = true }), wire.FindingCritical, "lose whole streams"},
		"a bus with one replica":             {onBus(func(b *facts) { b.Single = true }), wire.FindingWarning, "One replica"},
		"a follower that is offline":         {onBus(func(b *facts) { b.Stream.Followers[0].Offline = true }), wire.FindingWarning, "offline"},
		"a bus almost full":                  {onBus(func(b *facts) { b.Stream.Bytes = 900 }), wire.FindingCritical, "900 of 1000 bytes"},
		"batches in quarantine":              {onBus(func(b *facts) { b.Quarantined = 3 }), wire.FindingWarning, "3 batches"},
		"a gap": {onBus(func(b *facts) {
			b.Gaps = []BusGap{{Stream: "s", First: 4, Last: 6, Since: time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)}}
		}), wire.FindingCritical, "The batches 4 to 6"},
	} {
		found := diagnose(c.known)
		if len(found) != 1 || found[0].Severity != c.severity || !strings.Contains(found[0].Evidence, c.evidence) || found[0].Fix == "" || found[0].Subject == "" {
			t.Errorf("%s: got %+v", name, found)
		}
	}
	if found := append(diagnose(onBus(func(*facts) {})), diagnose(nil)...); len(found) > 0 {
		t.Errorf("found %+v where nothing is wrong", found)
	}
}

// The check has the name under which the doctor reports it. Without a bus it finds nothing.
func TestCheckWithoutBus(t *testing.T) {
	t.Parallel()
	if check := NewService(ServiceOptions{}).Check(t.Context()); check.Name != "bus" || len(check.Judge(nil)) > 0 {
		t.Errorf("got %+v", check)
	}
}
