package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

const (
	table = "outreach.dol_errors" // of the default policy: its errors block
	phase = "outreach"
)

// pipeline finds the employer's number of each company and moves the company on to
// the next phase. It keeps no list of what failed: Recoup does.
type pipeline struct {
	client    *client.Client
	filings   *filings
	batch     string
	companies []string
	out       io.Writer
}

// run does the work, moves on what it can, retries what failed, and moves on what
// has become free. What then still is blocked waits for a person.
func (p *pipeline) run(ctx context.Context, patience time.Duration) error {
	retried := waiting{}
	for _, company := range p.companies {
		if err := p.work(ctx, company, retried); err != nil {
			return err
		}
	}
	blocked, err := p.promote(ctx, p.companies)
	if err != nil {
		return err
	}
	if err := p.retry(ctx, patience, retried); err != nil {
		return err
	}
	blocked, err = p.promote(ctx, blocked)
	fmt.Fprintf(p.out, "%d of %d promoted, %d wait for a person\n", len(p.companies)-len(blocked), len(p.companies), len(blocked))
	return err
}

// work does the work of one company, or reports why it failed. The report has a
// key: a run that was broken off and is begun again reports nothing twice.
func (p *pipeline) work(ctx context.Context, company string, retried waiting) error {
	number, err := p.filings.number(ctx, company)
	if err == nil {
		fmt.Fprintf(p.out, "%s has the number %s\n", company, number)
		return nil
	}
	reported, err := p.client.Report(ctx, recoup.Report{
		Table: table, EntityID: company, Code: string(fault.Classify(err).Code), Message: err.Error(),
	}, client.IdempotencyKey(p.batch+"/"+company))
	if err != nil {
		return fmt.Errorf("reporting that %s failed: %w", company, err)
	}
	e := reported.Error
	if reported.Repeated { // much may have happened since
		if e, err = p.client.Errors.Get(ctx, e.ID); err != nil {
			return fmt.Errorf("looking after %s: %w", company, err)
		}
	}
	fmt.Fprintf(p.out, "%s failed: %s, %s\n", company, e.Code, e.State)
	if e.State == recoup.RetryPending {
		retried[company] = true
	}
	return nil
}

// promote moves on every company whose gate is open and returns the others. Check
// and move are one call: nothing can fail in between and slip through.
func (p *pipeline) promote(ctx context.Context, companies []string) (blocked []string, err error) {
	for _, company := range companies {
		done, err := p.client.Promote(ctx, recoup.Promotion{EntityID: company, Phase: phase}, client.IdempotencyKey(p.batch+"/"+company+"/"+phase))
		var failed *fault.Error
		switch {
		case err == nil:
			fmt.Fprintf(p.out, "%s promoted to %s\n", company, done.Phase)
		case errors.As(err, &failed) && failed.Code == fault.CodePromotionBlocked:
			blocked = append(blocked, company)
			p.explain(ctx, company)
		default:
			return nil, fmt.Errorf("promoting %s: %w", company, err)
		}
	}
	return blocked, nil
}

// explain says what blocks a company, whose turn it is and until when.
func (p *pipeline) explain(ctx context.Context, company string) {
	gate, err := p.client.CheckPromotion(ctx, company)
	if err != nil {
		fmt.Fprintf(p.out, "%s blocked\n", company)
		return
	}
	for _, b := range gate.Blockers {
		fmt.Fprintf(p.out, "%s blocked: %s is %s, owned by %s\n", company, b.Code, b.State, b.Owner)
	}
}

// waiting are the companies whose errors are to be retried.
type waiting map[string]bool

// retry works on what falls due, until nothing of this run is left of it. It may
// be given errors that others have reported too; the work is the same.
func (p *pipeline) retry(ctx context.Context, patience time.Duration, left waiting) error {
	if len(left) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var mu sync.Mutex
	worker := client.Worker{
		Client: p.client, Name: "hub", Tables: []string{table},
		Proven: []recoup.Condition{recoup.ConditionIdempotencyKey}, // asking the register twice does no harm
		Handler: func(ctx context.Context, e recoup.Error) error {
			_, err := p.filings.number(ctx, e.EntityID)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				fmt.Fprintf(p.out, "%s failed again: %v\n", e.EntityID, err)
				return err
			}
			fmt.Fprintf(p.out, "%s worked this time\n", e.EntityID)
			if delete(left, e.EntityID); len(left) == 0 {
				stop() // the worker finishes what it has begun, and reports the results
			}
			return nil
		},
	}
	return worker.Run(ctx)
}
