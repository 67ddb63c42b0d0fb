package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/stage"
)

// BenchmarkStage runs work through stages that do nothing, with checkpoints in
// memory: what the runner itself costs. Target: 5 µs a stage.
func BenchmarkStage(b *testing.B) {
	const stages = 10
	pipeline := stage.Pipeline{Name: "bench"}
	for i := range stages {
		pipeline.Stages = append(pipeline.Stages, stage.Stage{Name: fmt.Sprint("s", i), Run: func(context.Context, stage.Input) ([]byte, error) {
			return nil, nil
		}})
	}
	memory := &stage.Memory{}
	runner, err := stage.New(pipeline, stage.Options{Checkpoints: memory})
	must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := runner.Run(b.Context(), stage.Work{ID: recoup.ID{1}})
		must(b, err)
		must(b, memory.Forget(b.Context(), recoup.ID{1}))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*stages), "ns/stage")
}
