package doctor

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// readOnlySetting is the setting under which every write is refused.
const readOnlySetting = "default_transaction_read_only"

// From where on a server is found wanting.
const (
	maxSkew         = 5 * time.Second
	longTransaction = time.Hour
	manyDead        = 50_000        // rows, and
	deadShare       = 4             // more than a quarter of those that live
	oldIDs          = 1_000_000_000 // transactions
	ancientIDs      = 1_600_000_000
	fewBuffers      = 16_384  // pages of 8 kB
	largeDatabase   = 1 << 30 // bytes
	fullShare       = 10      // less than a tenth of the sessions is free
	poolSize        = 10      // of a node, unless it says otherwise
)

func judgeVacuum(in *Input) (found []FixableFinding) {
	s := in.Facts.Server
	if s == nil {
		return nil
	}
	for _, name := range []string{"autovacuum", "track_counts"} {
		if s.Settings[name] == "off" {
			found = append(found, NewFinding(wire.FindingWarning, name, "It is off: dead rows are never cleared away, and the queues slow down by the hour.",
				SQLCommand(&in.Facts, "alter system set "+name+" = on", "select pg_reload_conf()")))
		}
	}
	for _, t := range s.Tables {
		if t.AutovacuumOff {
			on := "alter table " + t.Name + " reset (autovacuum_enabled)"
			found = append(found, NewFinding(wire.FindingWarning, "table "+t.Name, "Autovacuum is off for it: its dead rows are never cleared away.", SQLCommand(&in.Facts, on)).
				With(Fix{Statements: []string{on}}))
		}
		if t.Dead > manyDead && t.Dead > t.Live/deadShare && in.Now.Sub(t.Vacuumed) > time.Hour {
			last := "never vacuumed"
			if !t.Vacuumed.IsZero() {
				last = "last vacuumed " + span(in.Now.Sub(t.Vacuumed)) + " ago"
			}
			found = append(found, NewFinding(wire.FindingWarning, "table "+t.Name, fmt.Sprintf("%d dead rows beside %d live ones, %s: it is bloated, and every scan pays for it.", t.Dead, t.Live, last),
				SQLCommand(&in.Facts, "vacuum (analyze) "+t.Name)))
		}
	}
	if s.FrozenAge > oldIDs {
		severity := wire.FindingWarning
		if s.FrozenAge > ancientIDs {
			severity = wire.FindingCritical
		}
		found = append(found, NewFinding(severity, "transaction ids", fmt.Sprintf("%d transactions since the oldest row that is not frozen: at 2 billion the database stops taking writes.", s.FrozenAge),
			`vacuumdb --all --freeze`))
	}
	return found
}

// judgeLocks has no remedy for --fix: the session may be a migration or a backup.
func judgeLocks(in *Input) (found []FixableFinding) {
	if in.Facts.Server == nil {
		return nil
	}
	for _, l := range in.Facts.Server.Locks {
		severity, does, since := wire.FindingWarning, "holds", ""
		if l.Blocked > 0 {
			severity = wire.FindingCritical
		}
		if l.Waits {
			does = "waits for"
		}
		if !l.Since.IsZero() {
			since = fmt.Sprintf(" Its transaction began %s ago.", span(in.Facts.Clock.Sub(l.Since)))
		}
		subject, effect := fmt.Sprintf("pid %d of %s", l.PID, l.Role), "reports and promotions that need the table fail."
		if l.Prepared != "" {
			subject = fmt.Sprintf("prepared transaction %s of %s", l.Prepared, l.Role)
		}
		switch {
		case l.On == store.ManyObjects:
			effect = "once the lock table of the server is full, statements of all sessions fail with \"out of shared memory\"."
		case l.On == store.GateLocks:
			effect = "reports and promotions of the entities whose gates it holds fail."
		case l.Mode == "AccessShareLock":
			severity, effect = wire.FindingNote, "old months cannot be dropped meanwhile, and migrations wait."
		}
		found = append(found, NewFinding(severity, subject, fmt.Sprintf("It %s %s on %s, and %s for it: %s%s",
			does, l.Mode, l.On, waiting(l.Blocked), effect, since), SQLCommand(&in.Facts, l.End())))
	}
	return found
}

func waiting(n int) string {
	if n == 1 {
		return "1 session waits"
	}
	return fmt.Sprintf("%d sessions wait", n)
}

func judgeHolders(in *Input) (found []FixableFinding) {
	if in.Facts.Server == nil {
		return nil
	}
	for _, h := range in.Facts.Server.Holders {
		subject := h.Kind + " " + h.Name
		switch age := in.Facts.Clock.Sub(h.Since); {
		case h.Kind == "replication slot":
			found = append(found, NewFinding(wire.FindingWarning, subject, "Nobody uses it, and it keeps "+size(h.Bytes)+" of the write-ahead log, which grows until the disk is full.",
				SQLCommand(&in.Facts, "select pg_drop_replication_slot("+literal(h.Name)+")")))
		case h.Since.IsZero() || age < longTransaction:
		case h.Kind == "prepared transaction":
			found = append(found, NewFinding(wire.FindingWarning, subject, "It has been prepared for "+span(age)+": no dead row since then can be cleared away.",
				SQLCommand(&in.Facts, "rollback prepared "+literal(h.Name))))
		default:
			found = append(found, NewFinding(wire.FindingWarning, subject, "It has been open for "+span(age)+": no dead row since then can be cleared away.",
				SQLCommand(&in.Facts, "select pg_terminate_backend("+pid(h.Name)+")")))
		}
	}
	return found
}

// pid is the process of a session, whose name begins with it.
func pid(name string) string {
	var n int
	if _, err := fmt.Sscanf(name, "pid %d", &n); err != nil {
		return "PID"
	}
	return strconv.Itoa(n)
}

func judgeClock(in *Input) []FixableFinding {
	if in.Facts.Server == nil || in.Skew.Abs() < maxSkew {
		return nil
	}
	direction := "ahead of"
	if in.Skew < 0 {
		direction = "behind"
	}
	return []FixableFinding{NewFinding(wire.FindingWarning, "clock of this machine", fmt.Sprintf("It is %s %s the database's: times that people see and clients send are wrong by that.", span(in.Skew.Abs()), direction),
		"timedatectl set-ntp true")}
}

func judgeConnections(in *Input) (found []FixableFinding) {
	s := in.Facts.Server
	if s == nil {
		return nil
	}
	if free := s.Available - s.Sessions; s.Available > 0 && free < max(s.Available/fullShare, 1) {
		found = append(found, NewFinding(wire.FindingWarning, "max_connections", fmt.Sprintf("%d of %d sessions are in use: a node that starts may get none.", s.Sessions, s.Available),
			SQLCommand(&in.Facts, fmt.Sprintf("alter system set max_connections = %d", 2*s.Available))))
	}
	pool := poolSize
	if in.Node != nil && in.Node.MaxConns > 0 {
		pool = in.Node.MaxConns
	}
	for _, l := range s.Limits {
		if l.Limit < pool+1 {
			found = append(found, NewFinding(wire.FindingWarning, l.Of, fmt.Sprintf("It may have %s, and one node takes up to %d.", count(l.Limit, "session"), pool+1),
				SQLCommand(&in.Facts, "alter "+l.Of+" connection limit -1")))
		}
	}
	return found
}

func judgePooler(in *Input) []FixableFinding {
	if in.Facts.Server == nil || !in.Facts.Server.Pooled {
		return nil
	}
	return []FixableFinding{NewFinding(wire.FindingNote, "pooler", "A connection pooler is in front of the database, and notifications do not get through: nodes poll for what other nodes commit.",
		`recoup serve --database "$RECOUP_DATABASE" --database-direct postgres://…`)}
}

// judgeDurability finds settings under which what was acknowledged can be lost.
func judgeDurability(in *Input) (found []FixableFinding) {
	s := in.Facts.Server
	if s == nil {
		return nil
	}
	for _, bad := range []struct{ name, value, why string }{
		{"fsync", "off", "a crash of the machine can corrupt the whole database"},
		{"full_page_writes", "off", "a crash of the machine can tear pages that nothing repairs"},
		{"synchronous_commit", "off", "a crash loses what was acknowledged in the moment before"},
		{"zero_damaged_pages", "on", "damaged pages are emptied without a word"},
	} {
		if s.Settings[bad.name] != bad.value {
			continue
		}
		fix := SQLCommand(&in.Facts, "alter system reset "+bad.name, "select pg_reload_conf()")
		where := ""
		if of, ok := s.Sources[bad.name]; ok {
			where = " for the " + of
			fix = SQLCommand(&in.Facts, "alter "+of+" reset "+bad.name)
		}
		found = append(found, NewFinding(wire.FindingCritical, bad.name, "It is "+bad.value+where+": "+bad.why+".", fix))
	}
	return found
}

func judgeSettings(in *Input) (found []FixableFinding) {
	s := in.Facts.Server
	if s == nil {
		return nil
	}
	if pages, err := strconv.ParseInt(s.Settings["shared_buffers"], 10, 64); err == nil && pages <= fewBuffers && s.Size > largeDatabase {
		found = append(found, NewFinding(wire.FindingNote, "shared_buffers", fmt.Sprintf("It is %s for a database of %s: reads go to the disk that could be served from memory.", size(pages*8192), size(s.Size)),
			SQLCommand(&in.Facts, "alter system set shared_buffers = '1GB'")))
	}
	if s.Settings[readOnlySetting] == "on" {
		fix := SQLCommand(&in.Facts, "alter system reset "+readOnlySetting, "select pg_reload_conf()")
		if of, ok := s.Sources[readOnlySetting]; ok {
			fix = SQLCommand(&in.Facts, "alter "+of+" reset "+readOnlySetting)
		}
		found = append(found, NewFinding(wire.FindingCritical, readOnlySetting, "It is on: every write is refused.", fix))
	}
	return found
}

// judgeListener finds a node that others can reach in the clear.
func judgeListener(in *Input) []FixableFinding {
	if in.Node == nil || in.Node.Secure {
		return nil
	}
	host, _, err := net.SplitHostPort(in.Node.Listen)
	ip := net.ParseIP(host)
	if err != nil || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return []FixableFinding{NewFinding(wire.FindingWarning, "listener "+in.Node.Listen, "It is reachable from other machines without TLS, and no proxy is configured: API keys cross the network in the clear.",
		"recoup serve --listen "+Word(in.Node.Listen)+" --tls-cert tls.crt --tls-key tls.key")}
}

// judgeUnseen reports what was not checked. A schema that was not checked is a warning:
// guards may be missing.
func judgeUnseen(in *Input) (found []FixableFinding) {
	for _, u := range in.Facts.Unseen {
		severity, evidence := wire.FindingNote, "This was not checked: "+u.Why+"."
		switch u.What {
		case store.FactSchema:
			severity, evidence = wire.FindingWarning, "The schema could not be read: "+u.Why+"; it was not checked."
		case store.FactGrants:
			severity = wire.FindingWarning
		}
		found = append(found, NewFinding(severity, u.What, evidence, ""))
	}
	return found
}

func judgePolicy(in *Input) []FixableFinding {
	if len(in.Warnings) == 0 {
		return nil
	}
	shown := slices.Clone(in.Warnings[:min(len(in.Warnings), 1)])
	return []FixableFinding{NewFinding(wire.FindingNote, "policy "+in.Policy.Version, fmt.Sprintf("Its checker has %s. The first: %s", count(len(in.Warnings), "warning"), shown[0]),
		"recoup policy check")}
}
