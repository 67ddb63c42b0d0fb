package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// letterCollector reports how staged work stands. Callers name pipelines, stages and
// classes, so only the largest have series of their own.
type letterCollector struct{ n *Node }

var (
	descLetters   = describe("dead_letters", "Open dead letters by pipeline, class and step of their workflow; the smallest kinds together are _other.", "pipeline", "class", "step")
	descUntriaged = describe("dead_letters_untriaged_age_seconds", "How long the oldest dead letter has waited to be triaged; 0: none does.")
	descWork      = describe("work", "Work in the queue by pipeline, stage and state; the smallest lanes together are _other. Counted up to twenty thousand, of which each lane has its share.", "pipeline", "stage", "state")
	descReplays   = describe("replays", "Replays by state, up to twenty thousand in each.", "state")
	descItems     = describe("replay_items_total", "Items of replays by their outcome.", "outcome")
)

// maxKinds is how many kinds of dead letters have series of their own.
const maxKinds = 100

func (c letterCollector) read(now time.Time) (list []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	f, err := c.n.store.StagedFigures(ctx, now)
	if err != nil {
		return nil
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, kind, v, labels...))
	}
	for _, l := range largest(f.Letters) {
		send(descLetters, prometheus.GaugeValue, float64(l.N), l.Pipeline, string(l.Class), string(l.Step))
	}
	waited := 0.0
	if !f.Waiting.IsZero() {
		waited = max(now.Sub(f.Waiting), 0).Seconds()
	}
	send(descUntriaged, prometheus.GaugeValue, waited)
	if f.Others.Sum() > 0 {
		f.Others.Lane = recoup.Lane{Pipeline: otherKind, Stage: otherKind}
		f.Lanes = append(f.Lanes, f.Others)
	}
	for _, l := range f.Lanes {
		send(descWork, prometheus.GaugeValue, float64(l.Due), l.Pipeline, l.Stage, "queued")
		send(descWork, prometheus.GaugeValue, float64(l.Delayed), l.Pipeline, l.Stage, "delayed")
		send(descWork, prometheus.GaugeValue, float64(l.Leased), l.Pipeline, l.Stage, "leased")
		send(descWork, prometheus.GaugeValue, float64(l.Lapsed), l.Pipeline, l.Stage, "lapsed")
	}
	for _, state := range recoup.ReplayStates() {
		send(descReplays, prometheus.GaugeValue, float64(f.Replays[state]), string(state))
	}
	for _, outcome := range recoup.ItemOutcomes() {
		send(descItems, prometheus.CounterValue, float64(f.Items[outcome]), string(outcome))
	}
	return list
}

// kind is what dead letters have in common that is counted together.
type kind struct {
	pipeline string
	class    recoup.Code
}

// otherKind is the kind of what has no series of its own. No pipeline and no class
// has this name.
const otherKind = "_other"

// largest leaves the largest kinds as they are and adds the others up.
func largest(levels []store.DeadLetterLevel) []store.DeadLetterLevel {
	sizes := map[kind]int64{}
	for _, l := range levels {
		sizes[kind{l.Pipeline, l.Class}] += l.N
	}
	kinds := make([]kind, 0, len(sizes))
	for k := range sizes {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a.pipeline, b.pipeline), cmp.Compare(a.class, b.class))
	})
	named := map[kind]bool{}
	for _, k := range kinds[:min(len(kinds), maxKinds)] {
		named[k] = true
	}
	var list []store.DeadLetterLevel
	rest := map[recoup.WorkflowStep]int{} // where in the list
	for _, l := range levels {
		at, known := rest[l.Step]
		switch {
		case named[kind{l.Pipeline, l.Class}]:
			list = append(list, l)
		case known:
			list[at].N += l.N
		default:
			rest[l.Step] = len(list)
			list = append(list, store.DeadLetterLevel{Pipeline: otherKind, Class: otherKind, Step: l.Step, N: l.N})
		}
	}
	return list
}
