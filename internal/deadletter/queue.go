package deadletter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/store"
)

// Submission is new work for the queue.
type Submission struct {
	WorkID      recoup.ID // zero: one is made
	Pipeline    string
	Stage       string // the first
	PayloadRef  string
	PayloadHash string
	Payload     []byte
	Delay       time.Duration

	Receipt *store.LetterReceipt
}

// maxDelay is how far off work may be.
const maxDelay = 30 * 24 * time.Hour

// Submit puts work into the queue, in order, each answered for itself. Work of an
// id that is there already is not there twice.
func (s *Service) Submit(ctx context.Context, subs []Submission) ([]Done, error) {
	if len(subs) > MaxBatch {
		return nil, tooMany(len(subs))
	}
	now := s.now()
	out, err := s.each(ctx, now, len(subs), func(i int) (store.LetterStep, error) { return s.submission(subs[i], now) })
	s.Wake()
	return out, err
}

func (s *Service) submission(in Submission, now time.Time) (store.LetterStep, error) {
	var f fields
	f.name("pipeline", in.Pipeline)
	f.name("stage", in.Stage)
	checkPayload(&f, in.PayloadRef, in.PayloadHash, in.Payload)
	if in.Delay < 0 || in.Delay > maxDelay {
		f.add("delay_seconds", "range", "delay_seconds must be between 0 and %d", int(maxDelay.Seconds()))
	}
	if err := f.err(); err != nil {
		return store.LetterStep{}, err
	}
	if in.WorkID.IsZero() {
		in.WorkID = s.IDs.New(now)
	}
	payload, err := s.sealPayload(in.WorkID, in.Payload, now)
	q := store.QueuedWork{
		WorkID: in.WorkID, Pipeline: in.Pipeline, Stage: in.Stage, PayloadRef: in.PayloadRef, PayloadHash: in.PayloadHash,
		CreatedAt: now, DueAt: now.Add(in.Delay),
	}
	return store.LetterStep{WorkID: in.WorkID, Decide: enter(q, payload), Receipt: in.Receipt}, err
}

// Claim asks for work.
type Claim struct {
	Lanes  []store.Lane
	Worker string
	Limit  int
	Lease  time.Duration // zero: the policy's default
	Wait   time.Duration // how long to wait for some
}

// The bounds of a claim.
const (
	MaxClaim = 1000
	maxLanes = 100

	// look is how often a claim that waits looks for what no bell announces: work
	// that falls due by the clock.
	look = time.Second
)

// Claimed is work that a worker has, with its payload where that is kept here.
type Claimed struct {
	store.QueuedWork
	Payload []byte
}

// Claim leases work to a worker. With nothing to do it waits, for as long as the
// claim says, and may come back empty.
func (s *Service) Claim(ctx context.Context, in Claim) ([]Claimed, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	over := time.NewTimer(in.Wait)
	defer over.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	bell := s.bell.Join()
	defer bell.Leave()
	for {
		bell.Take()
		claimed, err := s.claim(ctx, in)
		if err != nil || len(claimed) > 0 || in.Wait == 0 {
			return claimed, err
		}
		select {
		case <-bell.Ready():
		case <-tick.C:
		case <-over.C:
			return nil, nil
		case <-s.stopped:
			return nil, nil
		case <-ctx.Done():
			return nil, nil // nothing was claimed, and the caller is gone
		}
	}
}

func (in *Claim) check() error {
	var f fields
	f.require("worker", in.Worker != "")
	f.identifier("worker", in.Worker)
	if len(in.Lanes) == 0 || len(in.Lanes) > maxLanes {
		f.add("lanes", "items", "lanes must be between 1 and %d", maxLanes)
	}
	for _, lane := range in.Lanes[:min(len(in.Lanes), maxLanes)] {
		f.name("lanes.pipeline", lane.Pipeline)
		f.name("lanes.stage", lane.Stage)
	}
	if in.Limit < 1 || in.Limit > MaxClaim {
		f.add("limit", "range", "limit must be between 1 and %d", MaxClaim)
	}
	if in.Lease < 0 {
		f.add("lease_seconds", "minimum", "lease_seconds must not be negative")
	}
	if in.Wait < 0 || in.Wait > engine.MaxWait {
		f.add("wait_seconds", "range", "wait_seconds must be between 0 and %d", int(engine.MaxWait.Seconds()))
	}
	return f.err()
}

// claim claims what is due, and opens the payloads.
func (s *Service) claim(ctx context.Context, in Claim) ([]Claimed, error) {
	now := s.now()
	leased, err := s.Store.ClaimWork(ctx, store.WorkClaim{
		Lanes: in.Lanes, Limit: in.Limit, Now: now,
		Decide: func(q store.QueuedWork) (store.QueuedWork, error) {
			return lease(q, recoup.Lease{LeaseToken: s.IDs.New(now), LeaseWorker: in.Worker, LeasedAt: now, LeaseEndsAt: now.Add(s.leaseLength(in.Lease))})
		},
	})
	if err != nil || len(leased) == 0 {
		return nil, err
	}
	works := make([]recoup.ID, len(leased))
	out := make([]Claimed, len(leased))
	at := make(map[recoup.ID]int, len(leased))
	for i, q := range leased {
		works[i], out[i].QueuedWork, at[q.WorkID] = q.WorkID, q, i
	}
	payloads, err := s.Store.Payloads(ctx, works)
	if err != nil {
		return nil, err // the leases run out, and the work is claimed again
	}
	for _, p := range payloads {
		plain, err := s.Keys.open(ctx, p.KeyID, p.WorkID, payloadPlace, p.Sealed)
		if errors.Is(err, errSealed) {
			continue // its key was deleted: what it is about can be had by its reference only
		}
		if err != nil {
			return nil, err
		}
		out[at[p.WorkID]].Payload = plain
	}
	return out, nil
}

func (s *Service) leaseLength(asked time.Duration) time.Duration {
	bounds := s.Policies.Current().Leases
	return min(cmp.Or(asked, bounds.Default), bounds.Max)
}

// The outcomes of a result.
const (
	Succeeded = "succeed"
	Failed    = "fail"
	Extended  = "extend"
	Released  = "release"
)

// Result is a worker's word on work that it has.
type Result struct {
	WorkID  recoup.ID
	Token   recoup.ID
	Outcome string
	Lease   time.Duration // extend: from now on
	Failure Failure       // fail
	Receipt *store.LetterReceipt
}

// Results applies what workers say, in order, each answered for itself.
func (s *Service) Results(ctx context.Context, by string, results []Result) ([]Done, error) {
	if len(results) > MaxBatch {
		return nil, tooMany(len(results))
	}
	now := s.now()
	out, err := s.each(ctx, now, len(results), func(i int) (store.LetterStep, error) {
		r := &results[i]
		decide, err := s.result(r, by, now)
		return store.LetterStep{WorkID: r.WorkID, Decide: decide, Receipt: r.Receipt}, err
	})
	if slices.ContainsFunc(results, func(r Result) bool { return r.Outcome == Released }) {
		s.Wake()
	}
	return out, err
}

func (s *Service) result(r *Result, by string, now time.Time) (store.DecideLetter, error) {
	if r.Token.IsZero() {
		return nil, fault.Validation(fault.FieldError{Field: "lease_token", Constraint: "required", Message: "lease_token is required: the claim returned it"})
	}
	switch r.Outcome {
	case Succeeded:
		return s.succeed(r.Token, now), nil
	case Extended:
		if r.Lease < 0 {
			return nil, fault.Validation(fault.FieldError{Field: "lease_seconds", Constraint: "minimum", Message: "lease_seconds must not be negative"})
		}
		return extend(r.Token, now.Add(s.leaseLength(r.Lease))), nil
	case Released:
		return release(r.Token, now), nil
	case Failed:
		in := r.Failure
		in.WorkID, in.Token = r.WorkID, r.Token
		b, err := s.prepare(&in, by, now)
		if err != nil {
			return nil, err
		}
		return s.breakdown(b, now), nil
	}
	return nil, fault.Validation(fault.FieldError{Field: "outcome", Constraint: "enum", Message: "outcome must be succeed, fail, extend or release"})
}

// buryLost makes dead letters of work over which too many workers were lost.
func (s *Service) buryLost(ctx context.Context, limit int) (int, error) {
	spent, err := s.Store.SpentWork(ctx, limit)
	if err != nil || len(spent) == 0 {
		return 0, err
	}
	now := s.now()
	done, err := s.each(ctx, now, len(spent), func(i int) (store.LetterStep, error) {
		q := &spent[i]
		b, err := s.prepare(&Failure{
			WorkID: q.WorkID, Pipeline: q.Pipeline, Stage: q.Stage, Class: string(fault.CodeWorkerLost),
			Stack: fmt.Sprintf("%d workers were lost over this work", q.Lapses),
		}, recoup.System, now)
		if err != nil {
			return store.LetterStep{}, err
		}
		b.spent = true
		return store.LetterStep{WorkID: q.WorkID, Decide: s.breakdown(b, now)}, nil
	})
	return len(done), err
}
