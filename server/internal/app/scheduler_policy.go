package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// policyWatcher follows changes of the policy: every node looks at its own file and at
// the database, and judges what it finds. What is bad is refused and reported, once,
// and the policy in force stays.
type policyWatcher struct {
	seen    fileState
	bad     error                  // what is wrong with the file as it was seen
	refused atomic.Pointer[string] // what is refused at the moment; nil: nothing
}

// fileState is what a file looks like without reading it.
type fileState struct {
	modified time.Time
	size     int64
	hash     [sha256.Size]byte
}

// maxProblem is the most bytes of what is reported of a bad policy.
const maxProblem = 2000

// followPolicy looks for changes of the policy, first in the node's file, then in
// the database.
func (n *Node) followPolicy(ctx context.Context) error {
	failed := n.followFile(ctx)
	said, err := n.policyWatcher.bad, n.registry.Refresh(ctx)
	if _, bad := errors.AsType[*policy.LoadError](err); bad {
		said, err = errors.Join(said, err), nil
	}
	return errors.Join(failed, err, n.report(ctx, said))
}

// look says what the node's policy file is like: read as it was seen, if it looks
// the same.
func (n *Node) look() (fileState, []byte, error) {
	info, err := os.Stat(n.o.Policy)
	if err != nil {
		return fileState{}, nil, err
	}
	now := fileState{modified: info.ModTime(), size: info.Size(), hash: n.policyWatcher.seen.hash}
	if now == n.policyWatcher.seen {
		return now, nil, nil
	}
	text, err := os.ReadFile(n.o.Policy)
	now.hash = sha256.Sum256(text)
	return now, text, err
}

// followFile puts the node's policy file in force when it has changed. Of many
// nodes with the same file one adds it to the database, and the others find it
// there. What is wrong with it is kept for as long as it stays as it is.
func (n *Node) followFile(ctx context.Context) error {
	if n.o.Policy == "" {
		return nil
	}
	now, text, err := n.look()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.policyWatcher.seen, n.policyWatcher.bad = fileState{}, errors.New("the policy file is gone")
		return nil
	case err != nil || now.hash == n.policyWatcher.seen.hash:
		if err == nil {
			n.policyWatcher.seen = now
		}
		return err
	}
	applied, err := n.registry.ApplyPolicy(ctx, engine.Caller{Name: recoup.System}, text, false, "the policy file of a node has changed")
	refusal, refused := errors.AsType[*fault.Error](err)
	if err != nil && !refused {
		return err // the database is away: the next time
	}
	n.policyWatcher.seen, n.policyWatcher.bad = now, nil
	switch {
	case refused:
		n.policyWatcher.bad = fmt.Errorf("the policy file: %w", explained(refusal))
	case applied.Added:
		n.logPolicyFile(&applied.Version)
	}
	return nil
}

// logPolicyFile reports a policy that this node's file has put in force.
func (n *Node) logPolicyFile(v *wire.PolicyVersion) {
	n.o.Logger.Info("policy file applied", "version", v.Version, "checksum", v.Checksum(), "file", n.o.Policy)
}

// explained adds to a refusal what is wrong in which line, as far as it says so.
func explained(refusal *fault.Error) error {
	said := error(refusal)
	for _, f := range refusal.Fields() {
		said = fmt.Errorf("%w; %s", said, f.Message)
	}
	return said
}

// report reports a policy that was refused: in the log, in the metrics, and to the
// team, which is notified once however many nodes refuse it.
func (n *Node) report(ctx context.Context, refused error) error {
	if refused == nil {
		n.policyWatcher.refused.Store(nil)
		return nil
	}
	said := refused.Error()
	said = said[:min(len(said), maxProblem)]
	if before := n.policyWatcher.refused.Load(); before != nil && *before == said {
		return nil
	}
	n.o.Logger.Error("policy rejected; the one in force stays", "cause", said)
	hash := sha256.Sum256([]byte(said))
	_, err := n.store.AddNotices(ctx, n.o.Now(), []wire.Notice{{
		Kind: wire.NoticePolicyRefused, To: n.platformTeam(),
		Key:  "policy:" + hex.EncodeToString(hash[:8]),
		Body: recoup.EncodeJSON(map[string]any{"problem": said, "in_force": n.engine.Policies.Current().Version}),
	}})
	if err == nil {
		n.policyWatcher.refused.Store(&said)
	}
	return err
}
