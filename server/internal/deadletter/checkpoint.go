package deadletter

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// restartMark is the checkpoint of work that was begun anew; no stage has such a name.
// It is not encrypted.
const restartMark, unencrypted = "~restart", "none"

// restarted is the mark of work whose round was begun anew.
func restarted(d *recoup.DeadLetter, now time.Time) store.Checkpoint {
	return store.Checkpoint{WorkID: d.WorkID, Stage: restartMark, KeyID: unencrypted, Sealed: []byte(strconv.Itoa(d.Round)), At: now}
}

// CheckCheckpoint says what is wrong with the output of a stage, all of it.
func CheckCheckpoint(stage string, output []byte) error {
	var f check.Fields
	f.Name("stage", stage)
	if len(output) > MaxCheckpoint {
		f.Addf("output", "max_length", "output may have %d bytes, not %d", MaxCheckpoint, len(output))
	}
	return f.Err()
}

// SaveCheckpoint stores the output of a stage, encrypted. When it returns nil the
// output is durable.
func (s *Service) SaveCheckpoint(ctx context.Context, c engine.Caller, work, token recoup.ID, stage string, output []byte) error {
	if err := CheckCheckpoint(stage, output); err != nil {
		return err
	}
	if err := s.holder(ctx, c, work, token); err != nil {
		return err
	}
	key, encrypted, err := s.Keys.encrypt(work, stage, output)
	if err != nil {
		return err
	}
	return s.lost(ctx, work, s.Store.SaveCheckpoint(ctx, token, store.Checkpoint{WorkID: work, Stage: stage, KeyID: key, Sealed: encrypted, At: s.now()}))
}

// Progress returns the outputs of finished stages to whoever may go on with the
// work: the holder of its lease or, of work that is not in the queue, its client.
func (s *Service) Progress(ctx context.Context, c engine.Caller, work, token recoup.ID) (recoup.WorkProgress, error) {
	p := recoup.WorkProgress{Outputs: map[string][]byte{}}
	if err := s.holder(ctx, c, work, token); err != nil {
		return p, err
	}
	l, err := s.Store.StagedWork(ctx, work)
	switch {
	case err != nil && !errors.Is(err, sqldb.ErrNotFound):
		return p, err
	case !l.Queued.WorkID.IsZero() || !token.IsZero():
		if err := holds(&l, token); err != nil {
			return p, err
		}
	}
	list, err := s.Store.Checkpoints(ctx, work)
	if err != nil {
		return p, err
	}
	for _, kept := range list {
		if kept.Stage == restartMark {
			p.Restart, _ = strconv.Atoi(string(kept.Sealed))
			continue
		}
		plain, err := s.Keys.decrypt(ctx, kept.KeyID, work, kept.Stage, kept.Sealed)
		if errors.Is(err, errUndecryptable) {
			continue // the stage runs once more
		}
		if err != nil {
			return p, err
		}
		p.Outputs[kept.Stage] = plain
	}
	return p, nil
}

// Forget drops the outputs of all stages.
func (s *Service) Forget(ctx context.Context, c engine.Caller, work, token recoup.ID) error {
	if err := s.holder(ctx, c, work, token); err != nil {
		return err
	}
	return s.lost(ctx, work, s.Store.ForgetCheckpoints(ctx, token, work))
}

// lost explains what became of work whose lease is gone.
func (s *Service) lost(ctx context.Context, work recoup.ID, err error) error {
	if !errors.Is(err, store.ErrLeaseLost) {
		return err
	}
	l, failed := s.Store.StagedWork(ctx, work)
	if failed != nil && !errors.Is(failed, sqldb.ErrNotFound) {
		return failed
	}
	return leaseLost(&l)
}

// actPayload is the audited act of reading a payload.
const actPayload = "dead_letter.payload"

// Payload returns the payload of a dead letter. The read is audited first; if that
// fails, so does the read.
func (s *Service) Payload(ctx context.Context, c engine.Caller, id recoup.ID, reason string) ([]byte, error) {
	var f check.Fields
	reason = needed(&f, "reason", reason)
	if err := f.Err(); err != nil {
		return nil, err
	}
	l, err := s.Store.DeadLetter(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.visible(c, l.Dead.Pipeline); err != nil {
		return nil, err
	}
	p, err := s.Store.Payload(ctx, l.Dead.WorkID)
	if err != nil {
		return nil, err
	}
	if err := s.Store.AppendAudit(ctx, c.Act(reason, s.now()).On(actPayload, id.String(), map[string]any{"work_id": l.Dead.WorkID.String()})); err != nil {
		return nil, err
	}
	plain, err := s.Keys.decrypt(ctx, p.KeyID, p.WorkID, payloadPlace, p.Sealed)
	if errors.Is(err, errUndecryptable) {
		return nil, fault.Wrap(err, fault.CodeNotFound, "The payload can no longer be opened: its key was deleted.")
	}
	return plain, err
}
