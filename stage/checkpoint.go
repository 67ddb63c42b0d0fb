package stage

import (
	"bytes"
	"context"
	"maps"
	"sync"

	"github.com/recoup-dev/recoup"
)

// Checkpoints stores the outputs of finished stages. A runner saves each before the
// next stage, and loads all of them before it begins.
type Checkpoints interface {
	// Load returns the outputs of the stages that are finished, by their names.
	Load(ctx context.Context, work recoup.ID) (map[string][]byte, error)

	// Save stores the output of a stage. When it returns nil the output survives the
	// process.
	Save(ctx context.Context, work recoup.ID, stage string, output []byte) error

	// Forget deletes all outputs of a piece of work: it is done, or begins anew.
	Forget(ctx context.Context, work recoup.ID) error
}

// Memory keeps checkpoints in memory: enough for tests, and for work that can begin
// anew after a crash. The zero value is ready to use.
type Memory struct {
	mu   sync.Mutex
	kept map[recoup.ID]map[string][]byte
}

// Load returns what was saved.
func (m *Memory) Load(_ context.Context, work recoup.ID) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.kept[work]), nil
}

// Save keeps an output.
func (m *Memory) Save(_ context.Context, work recoup.ID, stage string, output []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[recoup.ID]map[string][]byte{}
	}
	if m.kept[work] == nil {
		m.kept[work] = map[string][]byte{}
	}
	m.kept[work][stage] = bytes.Clone(output)
	return nil
}

// Forget deletes all outputs of a piece of work.
func (m *Memory) Forget(_ context.Context, work recoup.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, work)
	return nil
}
