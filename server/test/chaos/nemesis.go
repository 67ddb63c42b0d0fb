package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// FaultKind is a way in which things go wrong.
type FaultKind string

// The faults.
const (
	KillNode      FaultKind = "node kill"             // SIGKILL, and a new start
	KillLeader    FaultKind = "leader kill"           // the same, of the node that leads
	KillTwo       FaultKind = "kill of two nodes"     // the second before the first is back
	PauseNode     FaultKind = "node pause"            // SIGSTOP, for longer than a lease and perhaps than a term, and SIGCONT
	PauseLeader   FaultKind = "leader pause"          // the same, of the node that leads
	RestartNode   FaultKind = "node restart"          // SIGTERM, and a new start
	AbortDatabase FaultKind = "database restart"      // as pg_ctl stop -m immediate does
	DatabaseAway  FaultKind = "database away"         // the same, and a new start after seconds
	KillBereft    FaultKind = "kill without database" // of a node, while the database is away
	EndSessions   FaultKind = "ended sessions"        // pg_terminate_backend of all that nodes have
	CutNode       FaultKind = "cut connection"        // between a node and its database: connections end, and new ones do
	StallNode     FaultKind = "stalled connection"    // nothing moves, and then it does
	MuteDatabase  FaultKind = "lost answers"          // what was asked for is done, and nobody hears of it
	Failover      FaultKind = "failover"              // the database dies, and its synchronous standby takes over
	FillDisk      FaultKind = "full disk"

	JumpForward FaultKind = "clock jump forward" // of the database's clock, by seconds to minutes
	JumpBack    FaultKind = "clock jump back"    // the same, by seconds to half a minute

	KillBus       FaultKind = "bus server kill"        // SIGKILL of one of three, and a new start after a while
	KillBusLeader FaultKind = "stream leader kill"     // the same, of the one that leads the stream
	KillBusAll    FaultKind = "bus cluster kill"       // the same, of all three
	PauseBus      FaultKind = "bus server pause"       // SIGSTOP, and SIGCONT
	CutBus        FaultKind = "cut from the bus"       // a node has no connection to any server of the bus
	StallBus      FaultKind = "stalled before the bus" // nothing moves between a node and the bus, and then it does
)

// Fault is one thing that happens, to one node, or server of the bus, if it is about
// these.
type Fault struct {
	Kind  FaultKind
	Node  int
	Other int           // the second, if it is about two
	For   time.Duration // until it is healed
	By    time.Duration // how far a clock jumps
	Rest  time.Duration // until the next
	Hasty bool          // the next does not wait until what was healed works again
}

// Mix is which faults are drawn, each as often, beside the others, as its number says.
type Mix map[FaultKind]int

// Plan draws faults from a seed: the same seed draws the same faults.
type Plan struct {
	random *rand.Rand
	kinds  []FaultKind // each as often as it is to be drawn
	nodes  int
	rest   time.Duration
	counts Counts
}

// NewPlan draws faults of a mix, for nodes of which there are so many, with at most a
// time of rest after each.
func NewPlan(seed uint64, nodes int, mix Mix, rest time.Duration) *Plan {
	p := &Plan{random: rand.New(rand.NewPCG(seed, 17)), nodes: nodes, rest: rest, counts: Counts{}}
	for _, kind := range slices.Sorted(maps.Keys(mix)) {
		p.kinds = append(p.kinds, slices.Repeat([]FaultKind{kind}, mix[kind])...)
	}
	return p
}

// Next draws the next fault.
func (p *Plan) Next() Fault {
	f := Fault{
		Kind: p.kinds[p.random.IntN(len(p.kinds))], Node: p.random.IntN(p.nodes),
		For: 200*time.Millisecond + time.Duration(p.random.Int64N(int64(2*time.Second))), Rest: time.Duration(p.random.Int64N(int64(p.rest))),
	}
	f.Other = (f.Node + 1 + p.random.IntN(max(1, p.nodes-1))) % p.nodes
	f.Hasty = p.random.IntN(4) == 0
	switch longer := p.random.IntN(3) == 0; {
	case longer && (f.Kind == PauseNode || f.Kind == PauseLeader):
		f.For += 11 * time.Second // longer than a term
	case f.Kind == DatabaseAway, f.Kind == KillBereft:
		f.For *= 2
	case f.Kind == JumpForward:
		f.By = 60 * f.For
	case f.Kind == JumpBack:
		f.By = -15 * f.For
	}
	p.counts[f.Kind]++
	return f
}

// Counts says how often each kind was drawn.
type Counts map[FaultKind]int

// Counts returns how often each kind was drawn so far.
func (p *Plan) Counts() Counts { return maps.Clone(p.counts) }

// Add adds those of another plan.
func (c Counts) Add(more Counts) {
	for kind, n := range more {
		c[kind] += n
	}
}

// Kills is how many nodes were killed.
func (c Counts) Kills() int { return c[KillNode] + c[KillLeader] + 2*c[KillTwo] + c[KillBereft] }

// Restarts is how often the database went without a farewell, and came back.
func (c Counts) Restarts() int { return c[AbortDatabase] + c[DatabaseAway] + c[KillBereft] }

// BusKills is how often servers of the bus were killed; all at once is once.
func (c Counts) BusKills() int { return c[KillBus] + c[KillBusLeader] + c[KillBusAll] }

func (c Counts) String() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%d × %s", c[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// Of is how a fault is noted in a history, from its beginning until it is healed.
func (f Fault) Of(begin, end time.Time) Operation {
	return Operation{Client: "nemesis", Node: f.Node, Kind: Kind(f.Kind), Begin: begin, End: end, Outcome: OK}
}

// isFault reports whether an operation is a fault.
func (o *Operation) isFault() bool { return o.Client == "nemesis" }
