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

// The faults. Those of a bus of events belong here once there is one.
const (
	KillNode      FaultKind = "node kill"          // SIGKILL, and a new start
	KillLeader    FaultKind = "leader kill"        // the same, of the node that leads
	PauseNode     FaultKind = "node pause"         // SIGSTOP, for longer than a lease and perhaps than a term, and SIGCONT
	PauseLeader   FaultKind = "leader pause"       // the same, of the node that leads
	RestartNode   FaultKind = "node restart"       // SIGTERM, and a new start
	AbortDatabase FaultKind = "database restart"   // as pg_ctl stop -m immediate does
	EndSessions   FaultKind = "ended sessions"     // pg_terminate_backend of all that nodes have
	CutNode       FaultKind = "cut connection"     // between a node and its database: connections end, and new ones do
	StallNode     FaultKind = "stalled connection" // nothing moves, and then it does
	MuteDatabase  FaultKind = "lost answers"       // what was asked for is done, and nobody hears of it
	Failover      FaultKind = "failover"           // the database dies, and its synchronous standby takes over
	FillDisk      FaultKind = "full disk"
)

// Fault is one thing that happens, to one node if it is about nodes.
type Fault struct {
	Kind FaultKind
	Node int
	For  time.Duration // until it is healed
	Rest time.Duration // until the next
}

// Plan draws faults from a seed: the same seed draws the same faults.
type Plan struct {
	random *rand.Rand
	kinds  []FaultKind
	nodes  int
	counts map[FaultKind]int
}

// NewPlan draws faults of the kinds, each as often as it is named.
func NewPlan(seed uint64, nodes int, kinds ...FaultKind) *Plan {
	return &Plan{random: rand.New(rand.NewPCG(seed, 17)), kinds: kinds, nodes: nodes, counts: map[FaultKind]int{}}
}

// Next draws the next fault.
func (p *Plan) Next() Fault {
	f := Fault{
		Kind: p.kinds[p.random.IntN(len(p.kinds))], Node: p.random.IntN(p.nodes),
		For: 200*time.Millisecond + time.Duration(p.random.Int64N(int64(2*time.Second))), Rest: time.Duration(p.random.Int64N(int64(time.Second))),
	}
	if (f.Kind == PauseNode || f.Kind == PauseLeader) && p.random.IntN(3) == 0 {
		f.For += 11 * time.Second // longer than a term
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
func (c Counts) Kills() int { return c[KillNode] + c[KillLeader] }

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
