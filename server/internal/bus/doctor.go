package bus

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// facts are what the doctor judges.
type facts struct {
	Bus
	Single    bool // one replica was allowed
	Monitored bool // it is known where the servers' monitoring is
	Servers   []serverFacts
}

// serverFacts are what the monitoring of a server says.
type serverFacts struct {
	Name       string // or where its monitoring is
	Version    string
	TooOld     bool
	SyncAlways bool
	Problem    string // why it cannot be asked; empty: it can
}

// fullBus is the share of its limit above which a bus is almost full.
const fullBus = 0.8

// syncFix is how a server is made to sync always.
const syncFix = "set jetstream { sync_interval: always } in the server's configuration, and restart the servers one by one"

// Check reads the state of the bus, and returns the doctor's check of it. Without a bus it finds
// nothing.
func (s *Service) Check(ctx context.Context) doctor.Check {
	known := s.examine(ctx)
	return doctor.Check{
		Name: "bus", About: "a bus that is away, may lose acknowledged events, is almost full, or whose batches cannot be written",
		Judge: func(*doctor.Input) []doctor.FixableFinding { return diagnose(known) },
	}
}

// examine is what the doctor is to know of the bus; nil: there is none.
func (s *Service) examine(ctx context.Context) *facts {
	if !s.Enabled() {
		return nil
	}
	status, _ := s.Status(ctx) // what cannot be read is not known
	f := &facts{Bus: status, Single: s.Bus.o.Single, Monitored: len(s.Bus.o.Monitors) > 0}
	for _, server := range s.Bus.Servers(ctx) {
		seen := serverFacts{Name: cmp.Or(server.Name, server.Monitor), Version: server.Version, TooOld: Older(server.Version, MinVersion), SyncAlways: server.SyncAlways}
		if server.Err != nil {
			seen.Problem = server.Err.Error()
		}
		f.Servers = append(f.Servers, seen)
	}
	return f
}

func diagnose(b *facts) (found []doctor.FixableFinding) {
	if b == nil {
		return nil
	}
	add := func(severity wire.FindingSeverity, subject, fix, evidence string, args ...any) {
		found = append(found, doctor.NewFinding(severity, subject, fmt.Sprintf(evidence, args...), fix))
	}
	if !b.Up {
		add(wire.FindingWarning, "bus", "recoup bus status", "It takes no events, which go to the database directly: %s.", b.Cause)
	} else if b.Cause != "" {
		add(wire.FindingCritical, "permissions", "recoup bus status", "It takes events, and not all that this node asks: %s.", b.Cause)
	}
	for _, peer := range b.Stream.Followers {
		if peer.Offline {
			add(wire.FindingWarning, peer.Name, "start the server again", "The server is offline: one more, and the bus takes no events.")
		}
	}
	if b.Single {
		add(wire.FindingWarning, "replicas", "run three servers, and leave --bus-single out", "One replica was allowed (--bus-single): a server that dies takes acknowledged events along.")
	}
	if b.Stream.MaxBytes > 0 && float64(b.Stream.Bytes) > fullBus*float64(b.Stream.MaxBytes) {
		add(wire.FindingCritical, "stream", "recoup bus status", "%d of %d bytes are taken: once it is full, events are refused.", b.Stream.Bytes, b.Stream.MaxBytes)
	}
	if b.Quarantined > 0 {
		add(wire.FindingWarning, "quarantine", "recoup bus quarantine list", "%d batches could not be written, and wait to be retried or dropped.", b.Quarantined)
	}
	for _, gap := range b.Gaps {
		add(wire.FindingCritical, gap.Stream, "compare the bus's replicas; the gap is forgotten after 8 days", "The batches %d to %d were never written, though later ones were at %s: the bus has lost them.",
			gap.First, gap.Last, gap.Since.UTC().Format(time.RFC3339))
	}
	return append(found, diagnoseServers(b)...)
}

// diagnoseServers judges what monitoring says. By default servers write to disk every two
// minutes, which has lost acknowledged messages in Jepsen's tests.
func diagnoseServers(b *facts) (found []doctor.FixableFinding) {
	if !b.Monitored {
		return []doctor.FixableFinding{doctor.NewFinding(wire.FindingNote, "sync", "It is not known whether the servers sync always: by default they do so every two minutes, and a power cut loses what was acknowledged since.",
			"recoup serve --bus-monitor http://HOST:8222,…")}
	}
	for _, s := range b.Servers {
		switch {
		case s.Problem != "":
			found = append(found, doctor.NewFinding(wire.FindingWarning, s.Name, "Its monitoring cannot be read: "+s.Problem+".", "curl "+doctor.Word(s.Name+"/varz")))
		case s.TooOld:
			found = append(found, doctor.NewFinding(wire.FindingCritical, s.Name, "It is version "+s.Version+", which can lose whole streams when it is killed.", "upgrade the server"))
		case !s.SyncAlways:
			found = append(found, doctor.NewFinding(wire.FindingCritical, s.Name, "It does not sync always: by default it does so every two minutes, and a power cut loses what was acknowledged since.", syncFix))
		}
	}
	return found
}
