package console

import (
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// gateZeroPage is all batches, and how things stand at Gate Zero.
type gateZeroPage struct {
	recoup.GateZeroStatus
	List []batchRow
	Next string
}

func viewGateZero(v *Request) (any, error) {
	var p gateZeroPage
	var err error
	if p.GateZeroStatus, err = v.client.GateZeroStatus(v.ctx()); err != nil {
		return nil, err
	}
	page, err := v.client.IntakeBatches(v.ctx(), client.Page{Cursor: v.r.URL.Query().Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	for i := range page.Batches {
		p.List = append(p.List, newBatchRow(&page.Batches[i], v.now))
	}
	if page.Next != "" {
		p.Next = address("gate-zero", url.Values{"cursor": {page.Next}})
	}
	return p, nil
}

// batchRow is a batch in the list.
type batchRow struct {
	recoup.Batch
	Standing                             badge
	LetIn, Recovered, Retried, Exhausted int64
}

func newBatchRow(b *recoup.IntakeBatch, now time.Time) batchRow {
	return batchRow{
		Batch: b.Batch, Standing: batchBadge(&b.Batch, now), LetIn: b.Intakes[recoup.IntakeAuthorized], Recovered: b.Intakes[recoup.IntakeReenterSucceeded],
		Retried: b.Recoveries[recoup.RecoveryActive], Exhausted: b.Recoveries[recoup.RecoveryExhausted],
	}
}

// batchBadge is where a batch stands.
func batchBadge(b *recoup.Batch, now time.Time) badge {
	switch {
	case b.Killed:
		return badge{"critical", "Stopped"}
	case b.Frozen(now):
		return badge{"archived", "Frozen"}
	case b.CompletedAt.IsZero():
		return badge{"retry", "Importing"}
	}
	return badge{"active", "Open"}
}

// batchPage is one batch: how far its companies have come, and its kill switch.
type batchPage struct {
	client.BatchStory
	Funnel   []funnelStep
	Failed   []recoup.Recovery // those that are exhausted, the last first
	Next     string
	Standing badge
}

// funnelStep is a number of companies, and how wide it is drawn.
type funnelStep struct {
	Name  string
	N     int64
	Width int // of 1000
}

func viewBatch(v *Request) (any, error) {
	id := v.r.PathValue("batch")
	var p batchPage
	var err error
	if p.BatchStory, err = v.client.IntakeBatch(v.ctx(), id); err != nil {
		return nil, err
	}
	list, err := v.client.Recoveries(v.ctx(), client.RecoveryFilter{List: client.Exhausted, BatchID: id}, client.Page{Cursor: v.r.URL.Query().Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	p.Failed, p.Funnel, p.Standing = list.Recoveries, funnel(&p.Batch), batchBadge(&p.Batch.Batch, v.now)
	if list.Next != "" {
		p.Next = address(v.batch(id), url.Values{"cursor": {list.Next}})
	}
	return p, nil
}

// funnel is how many companies came in, and what became of them.
func funnel(b *recoup.IntakeBatch) []funnelStep {
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

// batch is the address of a batch's page.
func (*Request) batch(id string) string { return "gate-zero/batches/" + url.PathEscape(id) }

// killBatch stops a batch, or releases it.
func killBatch(v *Request) (any, error) {
	id, act := v.r.PathValue("batch"), client.BatchAct{Reason: v.text("reason")}
	word, do := "kill", v.client.Kill
	if v.r.PathValue("act") != "kill" {
		word, do = "release", v.client.Release
	}
	if _, err := do(v.ctx(), id, act); err != nil {
		return nil, err
	}
	v.goDone(v.batch(id), word, 1)
	return nil, nil
}

// intakePage is one company: what happened to it.
type intakePage struct {
	client.IntakeStory
	Steps []step
}

func viewIntake(v *Request) (any, error) {
	id, err := v.pathID("an intake")
	if err != nil {
		return nil, err
	}
	var p intakePage
	if p.IntakeStory, err = v.client.IntakeStory(v.ctx(), id); err != nil {
		return nil, err
	}
	for i := range p.Timeline {
		e := &p.Timeline[i]
		s := step{When: moment(v.now, e.At), Title: airWord(e.Event), Detail: e.Reason, Kind: "past"}
		if e.Actor != "" {
			s.Reason = "by " + e.Actor
		}
		p.Steps = append(p.Steps, s)
	}
	if n := len(p.Steps); n > 0 {
		p.Steps[n-1].Kind = "now"
	}
	if r := p.Recovery; r != nil && r.Status == recoup.RecoveryActive {
		p.Steps = append(p.Steps, step{When: moment(v.now, r.NextEligibleAt), Title: "It may be verified again", Kind: "next"})
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
