package adoption

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

const (
	// maxLanes is of how many kinds of jobs replayed work is claimed at once.
	maxLanes = 100

	// maxName is how long the name of a pipeline or a stage may be, and maxSource how much
	// of that the source's own has.
	maxName, maxSource = 64, 40
)

// takeOver makes dead letters of a batch of jobs whose errors the policy has parked, if it
// says so, and reports whether there may be more (decision 0086). A job that is no failure
// at the moment, or is about something else by now, is left to who looks at its change.
func (s *Service) takeOver(ctx context.Context, a *Target, turn Lease, st *state) (more bool, err error) {
	if !s.rules(a).DeadLetters {
		return false, nil
	}
	parked, last, err := s.Store.ParkedRows(ctx, a.ID, a.Table, st.parked, Batch)
	if err != nil {
		return false, err
	}
	keys := make([]string, len(parked))
	for i := range parked {
		keys[i] = parked[i].Key
	}
	read, err := s.read(ctx, a, st, keys)
	if err != nil {
		return false, err
	}
	if read.keys < len(keys) {
		last = st.parked // the rest is read in another turn
	}
	there := make(map[string]*SourceRow, len(read.rows))
	for i := range read.rows {
		there[read.rows[i].Key] = &read.rows[i]
	}
	var list []deadletter.TakenOver
	for i := range parked[:read.keys] {
		p := &parked[i]
		row := s.clean(a, p.Key, there[p.Key], "")
		if row.source != failing || row.report.EntityID != p.EntityID {
			continue
		}
		made, err := s.letterOf(a, turn, p, there[p.Key], &row)
		if err != nil {
			return false, err
		}
		list = append(list, made)
	}
	st.parked = last
	return len(list) > 0 && !last.IsZero(), s.recordLetters(ctx, a, list)
}

// letterOf is the dead letter of a job.
func (s *Service) letterOf(a *Target, turn Lease, p *ParkedRow, r *SourceRow, row *cleaned) (deadletter.TakenOver, error) {
	stage := s.name(r.Stage, "job")
	failure := s.stageFailure(stage, row)
	failure.WorkID, failure.EntityID, failure.Exhausted, failure.Final = p.ErrorID, p.EntityID, p.Exhausted, true
	failure.Pipeline, failure.PayloadRef = s.pipeline(a, r.Pipeline), s.reference(a, p.Key)
	failure.FirstFailureAt = p.CreatedAt
	failure.Context = map[string]any{"attempts": map[string]any{stage: p.RetryCount + 1}}
	id := s.Engine.IDs.New(s.Now())
	kept, err := s.kept(id, r)
	return deadletter.TakenOver{ID: id, Failure: failure, Attach: Pair{Turn: turn, Key: p.Key, Digest: row.digest, Kept: kept}.Attachment()}, err
}

// recordLetters has dead letters recorded. What is refused has an error that a person has
// taken up meanwhile, and keeps it.
func (s *Service) recordLetters(ctx context.Context, a *Target, list []deadletter.TakenOver) error {
	if len(list) == 0 {
		return nil
	}
	done, err := s.Letters.TakeOver(ctx, caller(), list)
	if err != nil {
		return err
	}
	for i := range done {
		switch err := done[i].Err; {
		case err == nil:
			s.count(func(c *Counts) { c.DeadLettered++ })
		case transient(err):
			return err
		default:
			cause, _ := s.Redactor.String(err.Error())
			s.Logger.Warn("job of an adopted table does not become a dead letter", "table", a.Source, "key", pairIn(list[i].Attach).Key, "cause", cause)
		}
	}
	return nil
}

// replays sets the jobs off whose dead letters are replayed. Replayed work waits in lanes
// that only jobs of this source have; who claims it holds it as any worker does.
func (s *Service) replays(ctx context.Context, a *Target, turn Lease, st *state) error {
	lanes, err := s.Store.LanesOf(ctx, s.pipeline(a, ""), st.lane, maxLanes)
	if st.lane = (recoup.Lane{}); err != nil || len(lanes) == 0 {
		return err
	}
	if len(lanes) == maxLanes {
		st.lane = lanes[maxLanes-1]
	}
	work, err := s.Letters.Claim(ctx, caller(), recoup.WorkClaim{Lanes: lanes, Worker: By, Limit: maxRetries, LeaseSeconds: int(attemptLasts / time.Second)})
	if err != nil || len(work) == 0 {
		return err
	}
	ids := make([]recoup.ID, len(work))
	for i := range work {
		ids[i] = work[i].ErrorID
	}
	keys, err := s.Store.KeysOf(ctx, a.ID, ids)
	if err != nil {
		return err
	}
	var due []DueRow
	var rest []recoup.WorkResult
	for i := range work {
		w := &work[i].WorkItem
		if key, ok := keys[w.ErrorID]; ok {
			due = append(due, DueRow{Key: key, ErrorID: w.ErrorID, Token: w.LeaseToken, WorkID: w.WorkID, Stage: w.Stage})
		} else {
			rest = append(rest, s.homeless(a, w))
		}
	}
	if err := s.results(ctx, rest); err != nil {
		return err
	}
	if err := s.setOff(ctx, turn, st, due); err != nil {
		return errors.Join(err, s.giveBack(ctx, due)) // through no fault of the work
	}
	return nil
}

// giveBack lets work be claimed again whose jobs could not be set off for now.
func (s *Service) giveBack(ctx context.Context, list []DueRow) error {
	back := make([]recoup.WorkResult, len(list))
	for i, d := range list {
		back[i] = recoup.WorkResult{WorkID: d.WorkID, LeaseToken: d.Token, Outcome: deadletter.Released}
	}
	return s.results(ctx, back)
}

// homeless is what is said of work without a job: that of a dead letter of this source has
// lost it, anything else is somebody else's.
func (s *Service) homeless(a *Target, w *recoup.WorkItem) recoup.WorkResult {
	if w.ErrorID.IsZero() || !strings.HasPrefix(w.PayloadRef, a.Source+"/") {
		return recoup.WorkResult{WorkID: w.WorkID, LeaseToken: w.LeaseToken, Outcome: deadletter.Released}
	}
	return s.failedWork(w.WorkID, w.LeaseToken, w.Stage, lost())
}

// lost is how the work of a job has failed that cannot be reached any more.
func lost() *cleaned {
	return &cleaned{code: fault.CodeArtifactNotFound, report: recoup.Report{Message: "the job is not in its queue any more, or its table was released"}}
}

// letterResult is the result of a replayed job; nil: there is nothing to say.
func (s *Service) letterResult(r result, pair *Row, row *cleaned) *recoup.WorkResult {
	said := recoup.WorkResult{WorkID: pair.WorkID, LeaseToken: pair.Attempt}
	switch r {
	case succeeded:
		said.Outcome = deadletter.Succeeded
	case unsuccessful:
		said = s.failedWork(pair.WorkID, pair.Attempt, pair.Stage, row)
	case going:
		if !s.endsSoon(pair) {
			return nil
		}
		said.Outcome, said.LeaseSeconds = deadletter.Extended, int(attemptLasts/time.Second)
	default:
		return nil
	}
	return &said
}

func (s *Service) failedWork(work, token recoup.ID, stage string, row *cleaned) recoup.WorkResult {
	failure := s.stageFailure(stage, row)
	failure.Final = true
	return recoup.WorkResult{WorkID: work, LeaseToken: token, Outcome: deadletter.Failed, Failure: &failure}
}

// stageFailure is how a job has failed.
func (s *Service) stageFailure(stage string, row *cleaned) recoup.StageFailure {
	at := s.Now()
	if !row.at.IsZero() {
		at = row.at
	}
	stack := row.report.Message
	if strings.TrimSpace(stack) == "" {
		stack = "none"
	}
	return recoup.StageFailure{Stage: stage, Class: row.code, LastStack: stack, FirstFailureAt: at, LastFailureAt: at, Context: map[string]any{}}
}

// results records what became of replayed jobs. A lease that is lost has told the rest.
func (s *Service) results(ctx context.Context, list []recoup.WorkResult) error {
	if len(list) == 0 {
		return nil
	}
	done, err := s.Letters.Results(ctx, caller(), list, nil)
	if err != nil {
		return err
	}
	for i := range done {
		var named *fault.Error
		if err := done[i].Err; transient(err) && !(errors.As(err, &named) && named.Code == fault.CodeLeaseLost) {
			return err
		}
	}
	return nil
}

// ending is how the error of a row ends that is over for its owner. A dead letter has no
// other way out but its workflow.
func ending(pair *Row, reason string) engine.Act {
	if !pair.WorkID.IsZero() {
		return engine.Act{ID: pair.ErrorID, Input: lifecycle.ArchiveNow{Reason: reason}}
	}
	return engine.Act{ID: pair.ErrorID, Input: lifecycle.Resolve{Reason: reason}}
}

// pipeline is the name of a queue: that of its table, so that no other work has it, and
// behind a colon its own.
func (s *Service) pipeline(a *Target, queue string) string {
	name := plain(a.Source)
	name = s.name(name[max(0, len(name)-maxSource):], a.Preset)
	if queue == "" {
		return name
	}
	name += ":" + s.name(queue, "queue")
	return name[:min(len(name), maxName)]
}

// name is a text as the name of a pipeline or a stage; otherwise, if nothing is left of it
// or it cannot be kept.
func (s *Service) name(text, otherwise string) string {
	name := strings.TrimLeft(plain(text), "_.:-")
	name = name[:min(len(name), maxName)]
	if name == "" || s.Redactor.CheckIdentifier(text, check.MaxIdentifier) != nil || s.Redactor.CheckIdentifier(name, check.MaxIdentifier) != nil {
		return otherwise
	}
	return name
}

// plain has _ for everything that a name cannot have.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.:-", r)) {
			return r
		}
		return '_'
	}, text)
}

// reference is where the work of a job is: in its table, under its key.
func (s *Service) reference(a *Target, key string) string {
	ref := a.Source + "/" + key
	if s.Redactor.CheckIdentifier(ref, check.MaxIdentifier) != nil {
		return a.Source + "/"
	}
	return ref
}
