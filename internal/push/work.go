package push

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/api"
	"recoup/internal/deadletter"
	"recoup/internal/engine"
	"recoup/internal/store"
)

// What deliveries of work come to beside what all deliveries can.
const (
	outcomeSucceed = deadletter.Succeeded
	outcomeFail    = deadletter.Failed
	outcomeRelease = deadletter.Released
)

// workSource is staged work at some lanes.
type workSource struct {
	letters Letters
	worker  string
	lanes   []store.Lane
}

func (s *workSource) claim(ctx context.Context, limit int, lease time.Duration) ([]parcel, error) {
	claimed, err := s.letters.Claim(ctx, engine.Caller{Name: s.worker}, deadletter.Claim{Lanes: s.lanes, Worker: s.worker, Limit: limit, Lease: lease})
	list := make([]parcel, len(claimed))
	for i := range claimed {
		list[i] = &workParcel{s, &claimed[i]}
	}
	return list, err
}

// workParcel is a piece of work.
type workParcel struct {
	*workSource
	work *deadletter.Claimed
}

// key is that of the work at its stage and, where it is replayed, of the replay: a
// receiver that remembers its answers must not answer a replay with the failure that
// it is to mend.
func (p *workParcel) key() string {
	key := "work/" + p.work.WorkID.String() + "/" + p.work.Stage
	if !p.work.ReplayID.IsZero() {
		key += "/" + p.work.ReplayID.String()
	}
	return key
}

func (p *workParcel) message() any     { return api.ClaimedWork(p.work) }
func (p *workParcel) until() time.Time { return p.work.LeaseEndsAt }

// aside is never needed: work that comes back waits longer each time.
func (p *workParcel) aside() (time.Time, bool) { return time.Time{}, false }

func (p *workParcel) settle(ctx context.Context, a *answer) (string, error) {
	var result client.WorkResult
	if a.status == http.StatusNoContent {
		result.Outcome = outcomeSucceed
	} else if err := api.Read(a.body, &result); err != nil {
		return "", unusable(err)
	}
	if !same(result.WorkID, p.work.WorkID) || !same(result.LeaseToken, p.work.LeaseToken) {
		return "", unusable(other())
	}
	if result.Outcome != outcomeSucceed && result.Outcome != outcomeFail && result.Outcome != outcomeRelease {
		return "", unusable(fault.BadField("outcome", "enum", "outcome must be succeed, fail or release"))
	}
	result.WorkID, result.LeaseToken = p.work.WorkID, p.work.LeaseToken
	said, err := api.WorkResult(&result)
	if err != nil {
		return "", unusable(err)
	}
	if said.Outcome == outcomeFail {
		p.complete(&said.Failure)
	}
	return result.Outcome, p.apply(ctx, said)
}

// complete adds to a failure what the delivery itself tells: its stage, its time and
// that it was tried once. The class and the stack are for the receiver to say.
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

// apply tells the service. What it refuses because of what it says is unusable.
func (p *workParcel) apply(ctx context.Context, result deadletter.Result) error {
	done, err := p.letters.Results(ctx, engine.Caller{Name: p.worker}, []deadletter.Result{result})
	if err != nil {
		return err
	}
	if err := done[0].Err; err != nil && !lost(err) {
		return unusable(err)
	}
	return done[0].Err
}

func (p *workParcel) giveBack(ctx context.Context) error {
	return p.apply(ctx, deadletter.Result{WorkID: p.work.WorkID, Token: p.work.LeaseToken, Outcome: deadletter.Released})
}
