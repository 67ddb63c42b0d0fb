package scheduler_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// letter is what is known of a notice: how often it came, how often that cannot be
// known to whoever sent it, and what became of it.
type letter struct {
	wire.Notice
	origin         recoup.ID // of a copy, else its own id
	message        recoup.ID // under which it came
	times, excused int
	passed         bool // copies were made
	givenUp        bool
}

// post is the outbox as the dispatcher sees it, and, beyond the wire, those whom it
// notifies. One goroutine at a time is at work there.
type post struct {
	*shaky
	mu      sync.Mutex // what the bubble's time orders, the race detector does not see
	letters map[recoup.ID]*letter
	parts   map[recoup.ID][]recoup.ID // the notices of each message
	claimed int                       // since it was last looked at
	wake    []time.Time               // when something is to be tried again
	away    map[string]time.Time
}

// hosts are where the channels lead. Each takes another time to answer, so that
// what they do has an order.
var hosts = []string{"chat.example", "pager.example"}

func channels() []notify.Config {
	var list []notify.Config
	for _, host := range hosts {
		name, _, _ := strings.Cut(host, ".")
		list = append(list, notify.Config{Name: name, Kind: notify.Webhook, Values: map[string]string{"url": "https://" + host + "/", "secret": "a secret of the year"}})
	}
	return list
}

func (p *post) dispatcher(y *year) *notify.Dispatcher {
	d, err := notify.NewDispatcher(notify.Options{
		Store: p, Policy: y.policies.Current, Channels: channels(), Transport: p,
		Tools:  notify.Tools{Now: y.clock, Logger: slog.New(slog.DiscardHandler), Source: "year"},
		Random: func() float64 { return float64(y.ground.draw(1000)) / 1000 },
		Wait: func(ctx context.Context, d time.Duration) error {
			return ctx.Err() // the gap between two messages is nothing beside a year
		},
	})
	y.must(err)
	return d
}

// ClaimNotices orders what is claimed by what two runs of a seed have in common,
// which the ids of notices are not.
func (p *post) ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]wire.Notice, error) {
	list, err := p.database.ClaimNotices(ctx, now, lease, limit)
	slices.SortFunc(list, func(a, b wire.Notice) int {
		of := notify.Public(a).CopyOf
		other := notify.Public(b).CopyOf
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ErrorID[:], b.ErrorID[:]), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.To, b.To), cmp.Compare(channelOf(a), channelOf(b)), cmp.Compare(string(a.Body), string(b.Body)), bytes.Compare(of[:], other[:]))
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claimed += len(list)
	for _, n := range list {
		if p.letters[n.ID] == nil {
			l := &letter{Notice: n, origin: n.ID}
			if of := notify.Public(n).CopyOf; !of.IsZero() {
				l.origin = of
			}
			p.letters[n.ID] = l
		}
	}
	return list, err
}

func channelOf(n wire.Notice) string { return notify.Public(n).Channel }

// SaveMessage notes who is in a message.
func (p *post) SaveMessage(ctx context.Context, m store.Message) error {
	done, err := p.applied(func() error { return p.database.SaveMessage(ctx, m) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if done {
		for _, n := range m.Notices {
			p.parts[m.ID] = append(p.parts[m.ID], n.ID)
		}
	}
	return err
}

// ends returns what becomes of each notice, also of those that are in a message.
func (p *post) ends(deliveries []store.Delivery) (list []store.Delivery) {
	for _, d := range deliveries {
		if p.parts[d.ID] == nil {
			list = append(list, d)
		}
		for _, id := range p.parts[d.ID] {
			part := d
			part.ID = id
			list = append(list, part)
		}
	}
	return list
}

// FinishNotices holds what is acknowledged to what came. What came and could not be
// acknowledged may come again.
func (p *post) FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (n int, err error) {
	done := true
	if p.sabotage != forgetsThanks || p.y.ground.draw(4) > 0 {
		done, err = p.applied(func() error { n, err = p.database.FinishNotices(ctx, now, deliveries); return err })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.ends(deliveries) {
		l := p.letters[d.ID]
		l.passed = l.passed || done && len(d.Copies) > 0
		switch {
		case d.Delivered && !done && l.times > 0:
			l.excused++
		case d.Delivered && done && l.times == 0 && !l.passed:
			p.y.wrong("%s of %v is acknowledged and never came", l.Kind, l.ErrorID)
		case !d.Delivered && done && d.RetryAt.IsZero():
			l.givenUp = true
			if now.Sub(l.CreatedAt) < day || d.Attempt < 10 {
				p.y.wrong("%s of %v is given up after %v and %d tries", l.Kind, l.ErrorID, now.Sub(l.CreatedAt), d.Attempt)
			}
		}
		if !d.RetryAt.IsZero() {
			p.wake = append(p.wake, d.RetryAt)
		}
	}
	return n, err
}

// RoundTrip is the wire, and whoever listens at its other end: they refuse, are
// overloaded, are away, do not answer, or answer that it went wrong although it did
// not.
func (p *post) RoundTrip(r *http.Request) (*http.Response, error) {
	lane := time.Duration(1+slices.Index(hosts, r.URL.Host)) * time.Microsecond
	pause(time.Millisecond + lane)
	if _, _, dead := p.y.ground.state(); dead {
		return nil, errCut
	}
	var m notify.Message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return nil, err
	}
	fate := 99
	if p.y.rough {
		fate = p.y.ground.draw(24)
	}
	if p.y.clock().Before(p.away[r.URL.Host]) {
		fate %= 4
	}
	silent := func() (*http.Response, error) {
		<-r.Context().Done()
		pause(lane)
		return nil, r.Context().Err()
	}
	switch fate {
	case 0:
		return answer(r, http.StatusInternalServerError, ""), nil
	case 1:
		return answer(r, http.StatusTooManyRequests, "30"), nil
	case 2:
		return nil, errors.New("connection refused")
	case 3:
		return silent()
	case 4:
		p.receive(&m, true)
		return silent()
	case 5:
		p.receive(&m, true)
		return answer(r, http.StatusBadGateway, ""), nil
	}
	p.receive(&m, false)
	return answer(r, http.StatusOK, ""), nil
}

func answer(r *http.Request, status int, after string) *http.Response {
	a := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}
	if after != "" {
		a.Header.Set("Retry-After", after)
	}
	return a
}

// receive counts what a message is about.
func (p *post) receive(m *notify.Message, unknown bool) {
	if p.sabotage == losesNotices && p.y.ground.draw(10) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[recoup.ID]bool{}
	for _, item := range m.Items {
		l := p.letters[item.NoticeID]
		if l == nil {
			p.y.wrong("nobody has put %v into the outbox", item.NoticeID)
			continue
		}
		if seen[item.NoticeID] {
			continue
		}
		seen[item.NoticeID] = true
		if l.times > 0 && l.message != m.ID {
			p.y.wrong("%v came in the message %v and in the message %v", item.NoticeID, l.message, m.ID)
		}
		l.message = m.ID
		l.times++
		p.y.delivered++
		if unknown {
			l.excused++
		}
	}
	if m.Count != len(seen) {
		p.y.wrong("a message of %d notices tells of %d", m.Count, len(seen))
	}
}

// notify lets a node deliver what is due.
func (y *year) notify() {
	before, _, _ := y.ground.state()
	one := y.ground.shake(0, false)
	y.ground.shake(one, false)
	for range 5 {
		y.post.claimed = 0
		err := y.nodes[0].notifier.Run(y.Context())
		y.nodes[0].notifier.Wait()
		struck, _, _ := y.ground.state()
		if err != nil && struck == before {
			y.must(err)
		}
		if y.post.claimed == 0 || struck > before {
			break
		}
	}
	y.ground.shake(one, true)
	if struck, _, dead := y.ground.state(); struck > before {
		y.quiet(y.now.Add(2*time.Minute + time.Second)) // what nobody knows the end of is somebody else's then
		if dead {
			y.bury(0)
		}
	}
	for _, at := range y.post.wake {
		y.quiet(at.Add(-y.skew + time.Second))
	}
	y.post.wake = nil
}

// outage takes a channel away for a while.
func (y *year) outage() {
	y.post.away[hosts[y.r.IntN(len(hosts))]] = y.clock().Add(time.Duration(y.r.IntN(60)) * time.Minute)
}

// resend puts in again, as an operator does, what was given up.
func (y *year) resend() {
	var ids []recoup.ID
	for id, l := range y.post.letters {
		if l.givenUp {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		_, err := y.db.ResendNotices(y.Context(), ids, store.Act{By: "ada", Reason: "they are back", At: y.clock()})
		y.must(err)
	}
}
