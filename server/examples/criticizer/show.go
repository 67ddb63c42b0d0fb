package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/retry"
)

// show is one run: a worker, and an operator who looks after what fails.
type show struct {
	*client.Client
	world *world
	work  map[recoup.ID]string // what is criticised under which id
	out   io.Writer
}

func newShow(c *client.Client, out io.Writer) *show {
	return &show{Client: c, world: newWorld(), work: map[recoup.ID]string{}, out: out}
}

func (s *show) run(ctx context.Context) error {
	if err := s.submit(ctx); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	worker := client.StageWorker{Client: s.Client, Name: "critic-1", Pipeline: s.world.pipeline(), Poll: time.Second}
	go func() { ended <- worker.Run(working) }()
	err := s.operate(ctx)
	stop()
	if failed := <-ended; err == nil {
		err = failed
	}
	return err
}

// submit puts the pages into the queue.
func (s *show) submit(ctx context.Context) error {
	var batch []recoup.NewWorkItem
	for _, page := range pages() {
		batch = append(batch, recoup.NewWorkItem{Pipeline: pipelineName, Stage: "fetch", Payload: []byte(page), PayloadRef: "pages/" + page})
	}
	items, err := s.Work.Submit(ctx, batch)
	if err != nil {
		return err
	}
	for i, item := range items {
		work, err := item.Get()
		if err != nil {
			return err
		}
		s.work[work.WorkID] = pages()[i]
	}
	fmt.Fprintf(s.out, "%d pages are submitted\n", len(items))
	return nil
}

// operate waits until everything is posted or dead-lettered, and replays the dead
// letters.
func (s *show) operate(ctx context.Context) error {
	dead, err := s.settled(ctx)
	if err != nil {
		return err
	}
	s.report(dead)
	s.world.host.repair()
	s.world.model.repair()
	s.world.channel.repair()
	fmt.Fprintln(s.out, "The upstreams are repaired")
	for _, page := range slices.Sorted(maps.Keys(dead)) {
		if err := s.remedy(ctx, dead[page]); err != nil {
			return err
		}
	}
	seen, err := s.Replays.Preview(ctx, recoup.ReplaySelection{Pipeline: pipelineName})
	if err != nil {
		return err
	}
	replay, err := s.Replays.Start(ctx, recoup.NewReplay{Token: seen.Token, Reason: "the upstreams are back", Plan: recoup.ReplayPlan{Rate: 50}})
	if err != nil {
		return err
	}
	if err := s.watch(ctx, replay.ID); err != nil {
		return err
	}
	for _, page := range slices.Sorted(maps.Keys(dead)) {
		if _, err := s.DeadLetters.Verify(ctx, dead[page].ErrorID, recoup.Verification{Outcome: "DELIVERED", Note: "the channel shows it"}); err != nil {
			return err
		}
	}
	for _, page := range pages() {
		fmt.Fprintf(s.out, "%s: fetched %d time(s), criticised %d, told %d\n", page, s.world.host.total(page), s.world.model.total(page), s.world.channel.total(page))
	}
	return nil
}

// settled waits until every page is posted to the channel or a dead letter.
func (s *show) settled(ctx context.Context) (map[string]recoup.DeadLetter, error) {
	for {
		list, err := s.DeadLetters.List(ctx, recoup.DeadLetterFilter{Pipeline: pipelineName}, client.Page{})
		if err != nil {
			return nil, err
		}
		dead := map[string]recoup.DeadLetter{}
		for _, d := range list.DeadLetters {
			if page, ours := s.work[d.WorkID]; ours {
				dead[page] = d
			}
		}
		told := 0
		for _, page := range pages() {
			told += s.world.channel.total(page)
		}
		if told+len(dead) == len(pages()) {
			return dead, nil
		}
		if err := retry.Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// report says what became of each page.
func (s *show) report(dead map[string]recoup.DeadLetter) {
	for _, page := range pages() {
		d, failed := dead[page]
		if !failed {
			fmt.Fprintf(s.out, "%s is done; the host was asked %d times, the model %d, the channel %d\n",
				page, s.world.host.tries(page), s.world.model.tries(page), s.world.channel.tries(page))
			continue
		}
		fmt.Fprintf(s.out, "%s is a dead letter: %s at %s, parked for %s\n", page, d.Class, d.Stage, d.ParkReason)
	}
}

// remedy takes a dead letter through the acts before its replay.
func (s *show) remedy(ctx context.Context, d recoup.DeadLetter) error {
	triage := recoup.Triage{Cause: recoup.CauseTransient, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted}
	remedy := recoup.Remediation{Link: "INC-42", UpstreamChecked: "it answers again"}
	switch d.Class {
	case "CONTENT_REJECTED":
		triage.Cause = recoup.CauseData
		remedy = recoup.Remediation{Link: "INC-43", Corrected: "the page was edited"}
	case "AUTH_DENIED":
		triage.Cause = recoup.CauseAuthConfig
		remedy = recoup.Remediation{Link: "INC-44", Fixed: "the bot was let into the channel"}
	}
	if _, err := s.DeadLetters.Triage(ctx, d.ErrorID, triage); err != nil {
		return err
	}
	if _, err := s.DeadLetters.Remediate(ctx, d.ErrorID, remedy); err != nil {
		return err
	}
	_, err := s.DeadLetters.Validate(ctx, d.ErrorID, recoup.Validation{Idempotent: true, Note: "every stage hands its key on"})
	return err
}

// watch waits until a replay has ended.
func (s *show) watch(ctx context.Context, id recoup.ID) error {
	for {
		r, err := s.Replays.Get(ctx, id)
		if err != nil {
			return err
		}
		if r.Over() || r.State == "PAUSED" {
			fmt.Fprintf(s.out, "The replay is %s: %d of %d succeeded\n", r.State, r.Counts.Succeeded, r.Members)
			return nil
		}
		if err := retry.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
