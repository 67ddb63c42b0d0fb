package deadletter

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The bounds of a claim.
const (
	maxLanes = 100

	// look is how often the end of a replay polls for what no notification announces.
	look = time.Second
)

// Claim leases work to a worker. With nothing to do it waits, for as long as the
// claim says, and may come back empty.
func (s *Service) Claim(ctx context.Context, c engine.Caller, in recoup.WorkClaim) ([]recoup.ClaimedWork, error) {
	if err := CheckClaim(in); err != nil {
		return nil, err
	}
	for _, lane := range in.Lanes {
		if err := s.within(c, lane.Pipeline); err != nil {
			return nil, err
		}
	}
	names := lanes(in.Lanes)
	s.Heartbeats.Claims(in.Worker, names...)
	var claimed []recoup.ClaimedWork
	err := s.Await(ctx, lease.Wait{
		For: strings.Join(names, " "), Wait: lease.Seconds(in.WaitSeconds),
		Look: func() (bool, error) {
			var err error
			claimed, err = s.claim(ctx, in)
			return len(claimed) > 0, err
		},
	})
	return claimed, err
}

// lanes names the lanes of a claim, in an order of their own.
func lanes(list []recoup.Lane) []string {
	names := make([]string, len(list))
	for i, lane := range list {
		names[i] = lane.String()
	}
	slices.Sort(names)
	return names
}

// CheckClaim says what is wrong with a claim, all of it.
func CheckClaim(in recoup.WorkClaim) error {
	var f check.Fields
	lease.CheckClaim(&f, in.Worker, in.Limit, in.LeaseSeconds, in.WaitSeconds)
	if len(in.Lanes) == 0 || len(in.Lanes) > maxLanes {
		f.Addf("lanes", "items", "lanes must be between 1 and %d", maxLanes)
	}
	for _, lane := range in.Lanes[:min(len(in.Lanes), maxLanes)] {
		f.Name("lanes.pipeline", lane.Pipeline)
		f.Name("lanes.stage", lane.Stage)
	}
	return f.Err()
}

// claim claims what is due, and opens the payloads. What it cannot hand over it puts
// back.
func (s *Service) claim(ctx context.Context, in recoup.WorkClaim) ([]recoup.ClaimedWork, error) {
	var l recoup.Lease // one for all of it
	leased, err := s.Store.ClaimWork(ctx, store.WorkClaim{
		Lanes: in.Lanes, Limit: lease.Limit(in.Limit),
		Decide: func(q recoup.WorkItem, now time.Time) (recoup.WorkItem, error) {
			if !l.LeasedAt.Equal(now) {
				l = recoup.NewLease(s.IDs.New(now), in.Worker, now, s.Policies.Current().Leases.Length(lease.Seconds(in.LeaseSeconds)))
			}
			return take(q, l)
		},
	})
	if err != nil || len(leased) == 0 {
		return nil, err
	}
	out, stuck, err := s.unpack(ctx, leased)
	if len(stuck) > 0 {
		err = errors.Join(err, s.putBack(ctx, stuck))
	}
	if len(out) > 0 {
		return out, nil // what is stuck comes up again, here or elsewhere
	}
	return nil, err
}

// unpack opens the payloads of work that was leased. What cannot be opened for now is
// stuck, and the error says why; the rest does not suffer by it.
func (s *Service) unpack(ctx context.Context, leased []recoup.WorkItem) (out []recoup.ClaimedWork, stuck []recoup.WorkItem, err error) {
	works := make([]recoup.ID, len(leased))
	for i := range leased {
		works[i] = leased[i].WorkID
	}
	payloads, err := s.Store.Payloads(ctx, works)
	if err != nil {
		return nil, leased, err
	}
	plain, closed, failed := map[recoup.ID][]byte{}, map[recoup.ID]bool{}, map[string]error{}
	for _, p := range payloads {
		if failed[p.KeyID] != nil { // one look for each key is enough
			closed[p.WorkID] = true
			continue
		}
		text, err := s.Keys.decrypt(ctx, p.KeyID, p.WorkID, payloadPlace, p.Sealed)
		switch {
		case errors.Is(err, errUndecryptable): // its key was deleted: the payload is available by its reference only
		case err != nil:
			closed[p.WorkID], failed[p.KeyID] = true, err
		default:
			plain[p.WorkID] = text
		}
	}
	out = make([]recoup.ClaimedWork, 0, len(leased))
	for _, q := range leased {
		if closed[q.WorkID] {
			stuck = append(stuck, q)
			continue
		}
		context, failed := s.lastContext(ctx, q.ErrorID)
		if failed != nil {
			stuck, err = append(stuck, q), errors.Join(err, failed)
			continue
		}
		out = append(out, recoup.ClaimedWork{WorkItem: q, Payload: plain[q.WorkID], Context: context})
	}
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		err = errors.Join(err, failed[key])
	}
	return out, stuck, err
}

// lastContext returns the context of the last failure of a dead letter. Replays are
// released at a rate, so one question for each is few.
func (s *Service) lastContext(ctx context.Context, id recoup.ID) (recoup.JSON, error) {
	if id.IsZero() {
		return "", nil
	}
	rounds, err := s.Store.Rounds(ctx, id, sqldb.MaxPage)
	if err != nil || len(rounds) == 0 {
		return "", err
	}
	return rounds[len(rounds)-1].Context, nil
}

// handover is how long it may take to put work back for which nobody waits any more.
const handover = 5 * time.Second

// putBack releases work that its claimer cannot be given. It is not to blame, so no
// worker counts as lost over it.
func (s *Service) putBack(ctx context.Context, list []recoup.WorkItem) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handover)
	defer cancel()
	_, err := s.each(ctx, len(list), func(i int) (store.StagedStep, error) {
		return store.StagedStep{WorkID: list[i].WorkID, Token: list[i].LeaseToken, Decide: release(list[i].LeaseToken)}, nil
	})
	return err
}
