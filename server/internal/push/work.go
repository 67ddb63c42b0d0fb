package push

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/notify"
)

// The outcomes that only deliveries of work have.
const (
	outcomeSucceed = deadletter.Succeeded
	outcomeFail    = deadletter.Failed
	outcomeRelease = deadletter.Released
)

// Work is the kind of receivers that are sent staged work, new or replayed.
const Work = "work"

// WorkKind returns that kind.
func WorkKind() Kind {
	return Kind{
		Name:     Work,
		Fields:   []notify.Field{{Name: "lanes", Required: true, Help: "which work it does, as PIPELINE/STAGE with commas between them"}},
		Outcomes: []string{outcomeSucceed, outcomeFail, outcomeRelease},
	}
}

// workSource is staged work at some lanes.
type workSource struct {
	*Options
	worker string
	lanes  []recoup.Lane
}

func (s *workSource) Claim(ctx context.Context, limit, lease int) ([]Delivery, error) {
	claimed, err := s.Letters.Claim(ctx, engine.Caller{Name: s.worker}, recoup.WorkClaim{
		Lanes: s.lanes, Worker: s.worker, Limit: limit, LeaseSeconds: lease,
	})
	list := make([]Delivery, len(claimed))
	for i := range claimed {
		list[i] = &workParcel{s, &claimed[i]}
	}
	return list, err
}

// workParcel is a piece of work.
type workParcel struct {
	*workSource
	work *recoup.ClaimedWork
}

// Key is that of the work at its stage and, where it is replayed, of the replay, and of
// the attempt where it is retried: a receiver that remembers its answers must not answer
// with the failure that is to be mended.
func (p *workParcel) Key() string {
	key := "work/" + p.work.WorkID.String() + "/" + p.work.Stage
	if !p.work.ReplayID.IsZero() {
		key += "/" + p.work.ReplayID.String()
	}
	if n := p.work.FailedStages()[p.work.Stage].Attempts; n > 0 {
		key += "/" + strconv.Itoa(n+1)
	}
	return key
}

func (p *workParcel) Message() any     { return p.work }
func (p *workParcel) Until() time.Time { return p.work.LeaseEndsAt }

// Aside is never needed: work that comes back waits longer each time.
func (p *workParcel) Aside() (time.Time, bool) { return time.Time{}, false }

func (p *workParcel) Record(ctx context.Context, a *Answer) (string, error) {
	var result recoup.WorkResult
	if a.Status == http.StatusNoContent {
		result.Outcome = outcomeSucceed
	} else if err := p.Read(a.Body, &result); err != nil {
		return "", Unusable(err, recoup.WorkResult{})
	}
	if !Same(result.WorkID, p.work.WorkID) || !Same(result.LeaseToken, p.work.LeaseToken) {
		return "", Unusable(Other(), recoup.WorkResult{})
	}
	if result.Outcome != outcomeSucceed && result.Outcome != outcomeFail && result.Outcome != outcomeRelease {
		return "", Unusable(fault.BadField("outcome", "enum", "outcome must be succeed, fail or release"), recoup.WorkResult{})
	}
	result.WorkID, result.LeaseToken = p.work.WorkID, p.work.LeaseToken
	if result.Outcome == outcomeFail && result.Failure != nil {
		p.complete(result.Failure)
	}
	return result.Outcome, p.apply(ctx, result)
}

// complete adds to a failure what is known from the delivery: its stage, its time and
// that it was tried once. The class and the stack come from the receiver.
func (p *workParcel) complete(f *recoup.StageFailure) {
	f.Stage = cmp.Or(f.Stage, p.work.Stage)
	f.FirstFailureAt = cmp.Or(f.FirstFailureAt, f.LastFailureAt, p.work.LeasedAt)
	f.LastFailureAt = cmp.Or(f.LastFailureAt, f.FirstFailureAt)
	if f.Context == nil {
		f.Context = map[string]any{}
	}
	if f.Context["attempts"] == nil {
		f.Context["attempts"] = map[string]any{f.Stage: float64(1)}
	}
}

// apply submits the result. One that the service refuses for its content is unusable.
func (p *workParcel) apply(ctx context.Context, result recoup.WorkResult) error {
	done, err := p.Letters.Results(ctx, engine.Caller{Name: p.worker}, []recoup.WorkResult{result}, nil)
	if err != nil {
		return err
	}
	if err := done[0].Err; err != nil && !Lost(err) {
		return Unusable(err, recoup.WorkResult{})
	}
	return done[0].Err
}

func (p *workParcel) GiveBack(ctx context.Context) error {
	return p.apply(ctx, recoup.WorkResult{WorkID: p.work.WorkID, LeaseToken: p.work.LeaseToken, Outcome: deadletter.Released})
}

// lanes reads a list of lanes, which was checked.
func lanes(text string) (list []recoup.Lane) {
	for lane := range strings.SplitSeq(text, ",") {
		if pipeline, stage, ok := strings.Cut(strings.TrimSpace(lane), "/"); ok {
			list = append(list, recoup.Lane{Pipeline: pipeline, Stage: stage})
		}
	}
	return list
}
