package client

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/stage"
)

// Checkpoints stores the outputs of finished stages on the server, encrypted, for
// runners whose work is not in its queue. [StageWorker] does not need it.
type Checkpoints struct {
	Client *Client
}

var _ stage.Checkpoints = Checkpoints{}

// Load returns the outputs of the stages that are finished.
func (c Checkpoints) Load(ctx context.Context, work recoup.ID) (map[string][]byte, error) {
	p, err := c.Client.Work.Progress(ctx, work, recoup.ID{})
	return p.Outputs, err
}

// Save keeps the output of a stage.
func (c Checkpoints) Save(ctx context.Context, work recoup.ID, stage string, output []byte) error {
	return c.Client.Work.SaveCheckpoint(ctx, work, stage, recoup.NewCheckpoint{Output: output})
}

// Forget deletes the outputs of all stages. Outputs that are never forgotten are
// deleted after a month.
func (c Checkpoints) Forget(ctx context.Context, work recoup.ID) error {
	return c.Client.Work.DeleteCheckpoints(ctx, work, recoup.ID{})
}

// leased are the checkpoints of work that was claimed: what was loaded with it, and
// what is saved under its lease.
type leased struct {
	client *Client
	token  recoup.ID
	loaded map[string][]byte
}

func (l *leased) Load(context.Context, recoup.ID) (map[string][]byte, error) { return l.loaded, nil }

func (l *leased) Save(ctx context.Context, work recoup.ID, stage string, output []byte) error {
	return l.client.Work.SaveCheckpoint(ctx, work, stage, recoup.NewCheckpoint{LeaseToken: l.token, Output: output})
}

// Forget leaves it to the server, which forgets what is done.
func (l *leased) Forget(context.Context, recoup.ID) error { return nil }
