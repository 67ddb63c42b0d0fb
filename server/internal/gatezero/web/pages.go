package web

import (
	"embed"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/console"
)

//go:embed template/*.html
var templates embed.FS

// Pages is the section of the console.
func Pages() console.Section {
	files, err := fs.Sub(templates, "template")
	if err != nil {
		panic(err) // it is part of the program
	}
	get, post := http.MethodGet, http.MethodPost
	return console.Section{
		Templates: files,
		Pages: []console.Page{
			{Method: get, Path: "gate-zero", Name: "gate-zero", View: viewGateZero},
			{Method: get, Path: "gate-zero/batches/{batch}", Name: "batch", View: viewBatch},
			{Method: post, Path: "gate-zero/batches/{batch}/{act}", Name: "batch", View: killBatch},
			{Method: get, Path: "gate-zero/intakes/{id}", Name: "intake", View: viewIntake},
		},
		Entries:  []console.Entry{{Page: "gate-zero", Path: "gate-zero", Name: "Gate Zero", Key: "z", After: "promotion"}},
		Within:   map[string]string{"batch": "gate-zero", "intake": "gate-zero"},
		Finders:  []console.Finder{{Kind: recoup.IntakeIDs, Name: "intake", Path: "gate-zero/intakes/"}},
		Columns:  map[string][]string{"gate-zero": {"Let in", "Recovered", "Retried", "Exhausted", "Frozen"}},
		Outcomes: map[string]console.Outcome{"kill": {Done: "The batch is stopped."}, "release": {Done: "The batch is released."}},
	}
}

// gateZeroPage is all batches, and how things stand at Gate Zero.
type gateZeroPage struct {
	recoup.GateZeroStatus
	List []batchRow
	Next string
}

func viewGateZero(v *console.Request) (any, error) {
	var p gateZeroPage
	var err error
	if p.GateZeroStatus, err = v.Client().GateZero.Status(v.Context()); err != nil {
		return nil, err
	}
	page, err := v.Client().GateZero.Batches(v.Context(), v.ListPage())
	if err != nil {
		return nil, err
	}
	for i := range page.Batches {
		p.List = append(p.List, newBatchRow(&page.Batches[i], v.Now()))
	}
	if page.Next != "" {
		p.Next = console.Address("gate-zero", url.Values{"cursor": {page.Next}})
	}
	return p, nil
}

// batchRow is a batch in the list.
type batchRow struct {
	recoup.IntakeBatch
	Standing                             console.Badge
	LetIn, Recovered, Retried, Exhausted int64
}

func newBatchRow(b *recoup.IntakeBatchSummary, now time.Time) batchRow {
	return batchRow{
		IntakeBatch: b.IntakeBatch, Standing: batchBadge(&b.IntakeBatch, now), LetIn: b.Intakes[recoup.IntakeAuthorized], Recovered: b.Intakes[recoup.IntakeReenterSucceeded],
		Retried: b.Recoveries[recoup.RecoveryActive], Exhausted: b.Recoveries[recoup.RecoveryExhausted],
	}
}

// batchBadge is where a batch stands.
func batchBadge(b *recoup.IntakeBatch, now time.Time) console.Badge {
	switch {
	case b.Killed:
		return console.Badge{Class: "critical", Word: "Stopped"}
	case b.Frozen(now):
		return console.Badge{Class: "archived", Word: "Frozen"}
	case b.CompletedAt.IsZero():
		return console.Badge{Class: "retry", Word: "Importing"}
	}
	return console.Badge{Class: "active", Word: "Open"}
}

// batchPage is one batch: how far its companies have come, and its kill switch.
type batchPage struct {
	recoup.IntakeBatchStory
	Funnel   []funnelStep
	Failed   []recoup.Recovery // those that are exhausted, the last first
	Next     string
	Standing console.Badge
}

// funnelStep is a number of companies, and how wide it is drawn.
type funnelStep struct {
	Name  string
	N     int64
	Width int // of 1000
}

func viewBatch(v *console.Request) (any, error) {
	id := v.PathValue("batch")
	var p batchPage
	var err error
	if p.IntakeBatchStory, err = v.Client().GateZero.Batch(v.Context(), id); err != nil {
		return nil, err
	}
	list, err := v.Client().GateZero.Recoveries(v.Context(), recoup.RecoveryFilter{List: recoup.ExhaustedRecoveries, BatchID: id}, v.ListPage())
	if err != nil {
		return nil, err
	}
	p.Failed, p.Funnel, p.Standing = list.Recoveries, funnel(&p.Batch), batchBadge(&p.Batch.IntakeBatch, v.Now())
	if list.Next != "" {
		p.Next = console.Address(batchPath(id), url.Values{"cursor": {list.Next}})
	}
	return p, nil
}

// funnel is how many companies came in, and what became of them.
func funnel(b *recoup.IntakeBatchSummary) []funnelStep {
	var all int64
	for _, n := range b.Intakes {
		all += n
	}
	list := []funnelStep{
		{Name: "Taken in", N: all},
		{Name: "Not verified yet", N: b.Intakes[recoup.IntakePending]},
		{Name: "Authorized", N: b.Intakes[recoup.IntakeAuthorized]},
		{Name: "Recovered", N: b.Intakes[recoup.IntakeReenterSucceeded]},
		{Name: "Being retried", N: b.Recoveries[recoup.RecoveryActive]},
		{Name: "Exhausted", N: b.Recoveries[recoup.RecoveryExhausted]},
	}
	for i := range list {
		list[i].Width = int(list[i].N * 1000 / max(all, 1))
	}
	return list
}

// batchPath is the address of a batch's page.
func batchPath(id string) string { return "gate-zero/batches/" + url.PathEscape(id) }

// killBatch stops a batch, or releases it.
func killBatch(v *console.Request) (any, error) {
	id, act := v.PathValue("batch"), recoup.IntakeBatchAct{Reason: v.Text("reason")}
	word, do := "kill", v.Client().GateZero.Kill
	if v.PathValue("act") != "kill" {
		word, do = "release", v.Client().GateZero.Release
	}
	if _, err := do(v.Context(), id, act); err != nil {
		return nil, err
	}
	v.GoDone(batchPath(id), word, 1)
	return nil, nil
}

// intakePage is one company: what happened to it.
type intakePage struct {
	recoup.IntakeStory
	Steps []console.Step
}

func viewIntake(v *console.Request) (any, error) {
	id, err := v.PathID("an intake")
	if err != nil {
		return nil, err
	}
	var p intakePage
	if p.IntakeStory, err = v.Client().GateZero.Intake(v.Context(), id); err != nil {
		return nil, err
	}
	for i := range p.Timeline {
		e := &p.Timeline[i]
		s := console.Step{When: v.Moment(e.At), Title: airWord(e.Event), Detail: e.Reason, Kind: "past"}
		if e.Actor != "" {
			s.Reason = "by " + e.Actor
		}
		p.Steps = append(p.Steps, s)
	}
	if n := len(p.Steps); n > 0 {
		p.Steps[n-1].Kind = "now"
	}
	if r := p.Recovery; r != nil && r.Status == recoup.RecoveryActive {
		p.Steps = append(p.Steps, console.Step{When: v.Moment(r.NextEligibleAt), Title: "It may be verified again", Kind: "next"})
	}
	return p, nil
}

// airWord says what has happened to an intake.
func airWord(e recoup.AIREvent) string {
	words := map[recoup.AIREvent]string{
		recoup.AIRAuth: "Let in", recoup.AIRFail: "Failed", recoup.AIRReenter: "Recovered: another intake takes over", recoup.AIRExhausted: "No retry any more",
		recoup.AIRLateResult: "A result came too late, and does not count", recoup.AIRLapse: "A worker did not come back", recoup.AIRRevoke: "The kill switch took it from its worker",
		recoup.AIRKill: "Stopped", recoup.AIRRelease: "Released", recoup.AIRFreeze: "Frozen",
	}
	if w, ok := words[e]; ok {
		return w
	}
	return string(e)
}
