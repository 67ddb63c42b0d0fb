package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// progress is a job on its way.
type progress struct {
	Job
	saved   store.Job // what is known of it, saved or about to be
	note    note
	running bool // there is more to do at once
	moved   bool // something since it was saved is worth saving now
	at      time.Time
}

// note is what one leader leaves the next about a job, beside how it went. Episodes
// are the times it was late, by number. A notification is noted first, then sent,
// under a key of its number: a leader that dies in between is followed by one that
// sends it, and nothing is sent twice.
type note struct {
	Worked  time.Time `json:"worked"` // when it last went well
	Episode int       `json:"episode"`
	Late    bool      `json:"late,omitempty"`
	Unsent  bool      `json:"unsent,omitempty"`
}

// The rhythm of notes and of further attempts.
const (
	noteEvery  = 5 * time.Second  // of a job that is at work for long
	tryAgain   = 30 * time.Second // after a failure at the latest
	maxMessage = 500              // bytes
)

// resume begins where the last leader ended, or anew.
func resume(j Job, known []store.Job, now time.Time) *progress {
	p := &progress{Job: j, saved: store.Job{Name: j.Name}, note: note{Worked: now}}
	if i := slices.IndexFunc(known, func(k store.Job) bool { return k.Name == j.Name }); i >= 0 {
		p.saved = known[i]
		if json.Unmarshal([]byte(p.saved.Cursor), &p.note) != nil {
			p.note = note{Worked: now}
		}
	}
	return p
}

// due reports whether the job is to be begun, or goes on. A beginning that is in
// the future means that a clock went back: nobody waits for it to come again.
func (p *progress) due(now time.Time, idle bool) bool {
	begun, every := p.saved.StartedAt, p.pace(idle)
	if p.saved.Error != "" {
		every = min(every, tryAgain)
	}
	return p.running || now.Before(begun) || !now.Before(begun.Add(every))
}

func (p *progress) begin(now time.Time) {
	if !p.running {
		p.saved.StartedAt = now
		p.running = true
	}
}

// took notes how a chunk went. A run ends with a chunk that leaves nothing or fails.
func (p *progress) took(now time.Time, rows int, more bool, err error) {
	p.saved.Rows += int64(rows)
	p.moved = p.moved || rows > 0
	if more && err == nil {
		return
	}
	p.running = false
	p.saved.FinishedAt = now
	p.saved.Runs++
	said := ""
	if err != nil {
		p.saved.Failures++
		said = message(err)
	} else {
		p.note.Worked = now
	}
	p.moved = p.moved || (said != "") != (p.saved.Error != "")
	p.saved.Error = said
}

func message(err error) string {
	s := err.Error()
	return s[:min(len(s), maxMessage)]
}

// note saves how a job goes, if that is news or has not been saved for a while,
// and notifies people when it falls behind schedule and when it has caught up.
func (c *Clock) note(ctx context.Context, p *progress) error {
	now := c.Now()
	if !now.Before(p.at) && now.Before(p.at.Add(c.pause(p))) {
		return nil
	}
	lag, err := p.lag(ctx, now)
	if err != nil {
		c.Logger.Warn("job lag unknown", "job", p.Name, "cause", err)
	}
	p.saved.Lag = lag
	silent := now.Sub(p.note.Worked)
	p.judge(silent)
	if err := c.save(ctx, p); err != nil {
		return err
	}
	p.moved, p.at = false, now
	if !p.note.Unsent {
		return nil
	}
	if err := c.notify(ctx, p, now, silent); err != nil {
		return err
	}
	p.note.Unsent = false
	return c.save(ctx, p)
}

func (c *Clock) save(ctx context.Context, p *progress) error {
	cursor, err := json.Marshal(p.note)
	if err != nil {
		return err
	}
	p.saved.Cursor = string(cursor)
	if err := c.Store.SaveJob(ctx, c.Term(), p.saved); err != nil {
		return fmt.Errorf("job %s: %w", p.Name, err)
	}
	return nil
}

// pause is how long to wait before how a job goes is noted again.
func (c *Clock) pause(p *progress) time.Duration {
	switch {
	case p.running:
		return noteEvery
	case p.moved || p.note.Unsent:
		return 0
	}
	return c.Quiet
}

// lag is how long the oldest of what a job has to do has been waiting.
func (j *Job) lag(ctx context.Context, now time.Time) (time.Duration, error) {
	if j.Overdue == nil {
		return 0, nil
	}
	overdue, err := j.Overdue(ctx, now, 1)
	return overdue.Age(now), err
}

// judge decides whether the job is late. A notification that is outstanding comes
// first.
func (p *progress) judge(silent time.Duration) {
	late := p.saved.Lag > p.Late || silent > p.Late+p.Every
	if late == p.note.Late || p.note.Unsent {
		return
	}
	p.note.Late, p.note.Unsent = late, true
	if late {
		p.note.Episode++
	}
}

// notify notifies of a job that is behind schedule, once, and once that it has caught up.
func (c *Clock) notify(ctx context.Context, p *progress, now time.Time, silent time.Duration) error {
	kind := wire.NoticeJobRecovered
	if p.note.Late {
		kind = wire.NoticeJobLate
	}
	_, err := c.Store.AddNotices(ctx, now, []wire.Notice{{
		Kind: kind, To: c.NotifyTo(),
		Key: fmt.Sprintf("job:%s:%d:%s", p.Name, p.note.Episode, kind),
		Body: recoup.EncodeJSON(map[string]any{
			"job": p.Name, "lag_seconds": int64(p.saved.Lag.Seconds()), "silent_seconds": int64(max(silent, 0).Seconds()),
		}),
	}})
	if err != nil {
		return fmt.Errorf("notifying of job %s: %w", p.Name, err)
	}
	text := "job caught up"
	if p.note.Late {
		text = "job behind schedule"
	}
	c.Logger.Warn(text, "job", p.Name, "lag", p.saved.Lag, "silent", silent)
	return nil
}
