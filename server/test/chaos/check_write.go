package chaos

import "github.com/recoup-dev/recoup"

// tally counts rows by what they have in common.
func tally[T any](list []T, key func(*T) string) map[string]int {
	n := map[string]int{}
	for i := range list {
		n[key(&list[i])]++
	}
	return n
}

// checkReports wants one error of every report that was acknowledged, none of one
// that was refused, and none that nobody has reported.
func checkReports(c *checker) {
	found := map[string][]Error{}
	for _, e := range c.final.Errors {
		if e.Table != deadLetters {
			found[e.Correlation.String()] = append(found[e.Correlation.String()], e)
		}
	}
	for i := range c.calls {
		k := &c.calls[i]
		if k.Kind != Report {
			continue
		}
		c.oneAnswer(k)
		errs := found[k.Key]
		delete(found, k.Key)
		c.count(k, len(errs))
		if len(errs) == 1 && k.outcome() == OK && errs[0].ID != k.ID {
			c.violated("acknowledged", []string{k.Key, k.Entity}, "report %s was acknowledged as %s, and is there as %s", k.Key, k.ID, errs[0].ID)
		}
	}
	for _, errs := range found {
		c.violated("asked for", []string{errs[0].ID.String()}, "the error %s of %s was reported by nobody", errs[0].ID, errs[0].Entity)
	}
}

// deadLetters is the table of dead letters in the policies that are tested with.
const deadLetters = "pipeline.dead_letters"

// checkEvents wants every event that was acknowledged once, and one event for each
// error and for each of its attempts that failed.
func checkEvents(c *checker) {
	events := tally(c.final.Events, func(e *EventRow) string { return e.ID.String() })
	for id, n := range events {
		if n > 1 {
			c.violated("once", []string{id}, "the event %s is there %d times", id, n)
		}
	}
	for i := range c.calls {
		if k := &c.calls[i]; k.Kind == Event {
			c.count(k, min(events[k.Key], 1))
		}
	}
	for _, e := range c.final.Errors {
		if e.Table != deadLetters && events[e.ID.String()] != 1 {
			c.violated("event of each error", []string{e.ID.String(), e.Entity}, "the error %s has %d events of its id", e.ID, events[e.ID.String()])
		}
	}
	related := tally(c.final.Events, func(e *EventRow) string { return e.Correlation.String() })
	attempts := map[recoup.ID]int{}
	for _, t := range c.final.History {
		if !t.Attempt.IsZero() && !t.late() && (t.Input == "fail" || t.Input == "lapse" || t.Input == "claim") {
			attempts[t.ErrorID]++
		}
	}
	for _, e := range c.final.Errors {
		if got, want := related[e.Correlation.String()], 1+attempts[e.ID]; e.Table != deadLetters && got < want {
			c.violated("event of each attempt", []string{e.ID.String(), e.Entity}, "the error %s and its %d failed attempts have %d events", e.ID, attempts[e.ID], got)
		}
	}
}

// checkActs wants every act of a person on an error in its history once: its reason
// is the key of the call.
func checkActs(c *checker) {
	rows := tally(c.final.History, func(t *Transition) string { return t.Input + " " + t.Reason + " " + t.ErrorID.String() })
	for i := range c.calls {
		k := &c.calls[i]
		if k.Kind == Park || k.Kind == Unpark || k.Kind == Resolve {
			c.count(k, rows[string(k.Kind)+" "+k.Key+" "+k.ID.String()])
		}
	}
}

// checkPromotions wants every promotion that was acknowledged once, under the number
// that its client was told.
func checkPromotions(c *checker) {
	rows := map[string][]Promotion{}
	for _, p := range c.final.Promotions {
		rows[p.Phase] = append(rows[p.Phase], p)
	}
	for i := range c.calls {
		k := &c.calls[i]
		if k.Kind != Promote {
			continue
		}
		c.oneAnswer(k)
		list := rows[k.Key]
		delete(rows, k.Key)
		c.count(k, len(list))
		if len(list) == 1 && k.outcome() == OK && (list[0].Seq != k.Seq || list[0].ID != k.ID || list[0].Entity != k.Entity) {
			c.violated("acknowledged", []string{k.Key, k.Entity}, "promotion %s was acknowledged as %d of %s, and is there as %d of %s", k.Key, k.Seq, k.Entity, list[0].Seq, list[0].Entity)
		}
	}
	for phase, list := range rows {
		c.violated("asked for", []string{phase, list[0].Entity}, "nobody has asked to promote %s to %s", list[0].Entity, phase)
	}
}

// checkWork wants submitted work in one place: in the queue, dead, or done by a
// worker that says so.
func checkWork(c *checker) {
	queued, open, dead := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, id := range c.final.Works {
		queued[id.String()]++
	}
	for _, l := range c.final.Letters {
		dead[l.WorkID.String()] = true
		if !l.Closed {
			open[l.WorkID.String()]++
		}
	}
	finished := map[string]Outcome{} // the best that is known
	for i := range c.calls {
		if k := &c.calls[i]; k.Kind == FinishWork && finished[k.ID.String()] != OK {
			finished[k.ID.String()] = k.outcome()
		}
	}
	for i := range c.calls {
		k := &c.calls[i]
		if k.Kind != Submit {
			continue
		}
		about := []string{k.Key, k.ID.String()}
		done := finished[k.Key] == OK || finished[k.Key] == Unknown
		switch {
		case queued[k.Key] > 1 || open[k.Key] > 1:
			c.violated("once", about, "the work %s is %d times in the queue and %d times dead", k.Key, queued[k.Key], open[k.Key])
		case k.outcome() == OK && queued[k.Key] == 0 && !dead[k.Key] && !done:
			c.violated("acknowledged", about, "the work %s was accepted, and is neither queued nor dead nor done", k.Key)
		case finished[k.Key] == OK && !dead[k.Key] && queued[k.Key] > 0:
			c.violated("acknowledged", about, "the work %s was done, and is in the queue", k.Key)
		}
	}
}

// steps are the notes that acts on dead letters leave.
var steps = map[Kind]recoup.WorkflowStep{
	Triage: recoup.StepTriaged, Remediate: recoup.StepRemediated, Validate: recoup.StepValidated, Verify: recoup.StepVerified,
}

// checkLetters wants every failure for good in one dead letter, whose rounds are
// numbered without a gap, every act on it noted once, and every replay there once
// and over.
func checkLetters(c *checker) {
	notes := tally(c.final.Notes, func(n *Note) string { return string(n.Step) + " " + n.Text + " " + n.ErrorID.String() })
	replays := map[string]int{}
	for _, r := range c.final.Replays {
		replays[r.Reason]++
		if !r.State.Over() && r.State != recoup.ReplayPaused {
			c.violated("at rest", []string{r.Reason, r.ID.String()}, "the replay %s is %s for ever", r.ID, r.State)
		}
	}
	dead := map[string]bool{}
	for _, l := range c.final.Letters {
		dead[l.WorkID.String()] = true
		if l.Round != l.Rounds {
			c.violated("once", []string{l.ErrorID.String(), l.WorkID.String()}, "the dead letter %s is in round %d, and has %d", l.ErrorID, l.Round, l.Rounds)
		}
	}
	for i := range c.calls {
		k := &c.calls[i]
		switch {
		case k.Kind == Replay:
			c.count(k, replays[k.Key])
		case k.Kind == FailWork && k.outcome() == OK && !dead[k.ID.String()]:
			c.violated("acknowledged", []string{k.Key, k.ID.String()}, "the work %s has failed for good, and there is no dead letter", k.ID)
		case steps[k.Kind] != "":
			c.count(k, notes[string(steps[k.Kind])+" "+k.Key+" "+k.ID.String()])
		}
	}
}
