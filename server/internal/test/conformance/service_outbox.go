package conformance

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func outboxClauses() []serviceClause {
	return []serviceClause{
		{"a notice is claimed when it is due, and again when its lease is over", noticeClaimed},
		{"a delivery ends a notice, unless another attempt has begun", noticeFinished},
		{"a notice that fails waits for its next time, or is given up", noticeRetried},
		{"copies take the place of a notice in the commit of its end, or not at all", noticeCopied},
		{"the notices of a message are claimed, put off and delivered together", messageSaved},
		{"a message that was saved stays as it is, and none has a notice of another", messageKept},
		{"of sixteen nodes that claim, one gets each message", messageRace},
		{"sixteen nodes deliver each notice once", noticeRace},
		{"the same notice is sent once, however often it is added", noticeDedup},
		{"notices of errors are delivered like all others", noticeOfError},
		{"what waits of a kind is found by its errors, or as what no error causes", noticeWaits},
		{"what is delivered or given up is purged, oldest first, and nothing else", noticePurged},
		{"receipts that have expired are purged, and no others", receiptPurged},
	}
}

// enqueue adds notices, each a little later than the one before.
func (d *serviceDriver) enqueue(keys ...string) {
	d.Helper()
	for _, key := range keys {
		if n := d.add(key); n != 1 {
			d.Fatalf("%s was not added", key)
		}
		d.wait(time.Microsecond)
	}
}

// add adds notices in one verb, and returns how many were new.
func (d *serviceDriver) add(keys ...string) int {
	d.Helper()
	var list []wire.Notice
	for _, key := range keys {
		list = append(list, wire.Notice{Kind: "ALERT", To: "ops", Key: key, Body: recoup.JSON(`{"rule":  "` + key + `"}`)})
	}
	n, err := d.store.AddNotices(d.Context(), d.now, list)
	d.must(err)
	return n
}

const noticeLease = time.Minute

// claimed claims notices and says which keys they must have.
func (d *serviceDriver) claimed(limit int, keys ...string) []wire.Notice {
	d.Helper()
	list, err := d.store.ClaimNotices(d.Context(), d.now, noticeLease, limit)
	d.must(err)
	got := make([]string, len(list))
	for i, n := range list {
		got[i] = n.Key
		if n.DueAt.After(d.now) {
			d.Errorf("%s was due at %v", n.Key, n.DueAt)
		}
	}
	wantSame(d, got, append([]string{}, keys...))
	return list
}

// finish says of how many deliveries the store must take note.
func (d *serviceDriver) finish(want int, list ...store.Delivery) {
	d.Helper()
	n, err := d.store.FinishNotices(d.Context(), d.now, list)
	if d.must(err); n != want {
		d.Fatalf("%d were finished, want %d", n, want)
	}
}

func (d *serviceDriver) pending(want int) {
	d.Helper()
	list, err := d.store.PendingNotices(d.Context(), sqldb.MaxPage)
	if d.must(err); len(list) != want {
		d.Fatalf("%d notices wait, want %d", len(list), want)
	}
}

func noticeClaimed(d *serviceDriver) {
	made := d.now
	d.enqueue("a")
	d.now = made.Add(-time.Microsecond)
	d.claimed(10)
	d.wait(time.Minute)
	d.enqueue("b", "c")
	n := d.claimed(1, "a")[0]
	wantSame(d, n, wire.Notice{ID: n.ID, CreatedAt: made, DueAt: made, Attempts: 1,
		Kind: "ALERT", To: "ops", Key: "a", Body: `{"rule":  "a"}`})
	if second := d.claimed(10, "b", "c")[0]; second.ID == n.ID || second.ID.IsZero() {
		d.Errorf("two notices have the id %v", n.ID)
	}
	d.claimed(10)
	d.wait(noticeLease)
	if again := d.claimed(10, "a", "b", "c")[0]; again.Attempts != 2 || again.ID != n.ID {
		d.Errorf("claimed again as %+v", again)
	}
}

func noticeFinished(d *serviceDriver) {
	d.enqueue("a", "b")
	list := d.claimed(10, "a", "b")
	d.finish(1, store.Delivery{ID: list[0].ID, Attempt: 1, Delivered: true},
		store.Delivery{ID: list[1].ID, Attempt: 2, Delivered: true}, store.Delivery{ID: d.ids.New(d.now), Attempt: 1, Delivered: true})
	d.finish(0, store.Delivery{ID: list[0].ID, Attempt: 1}) // it is delivered
	d.pending(1)
	d.wait(noticeLease)
	late := d.claimed(10, "b")[0]
	d.finish(0, store.Delivery{ID: late.ID, Attempt: 1, RetryAt: d.now.Add(time.Hour)}) // another has it
	d.finish(1, store.Delivery{ID: late.ID, Attempt: 2, Delivered: true})
	d.pending(0)
	d.finish(0)
	d.wait(day)
	d.claimed(10)
}

func noticeRetried(d *serviceDriver) {
	d.enqueue("a")
	n := d.claimed(10, "a")[0]
	d.finish(1, store.Delivery{ID: n.ID, Attempt: 1, RetryAt: d.now.Add(time.Hour), Error: "no answer"})
	d.wait(time.Hour - time.Microsecond)
	d.claimed(10)
	d.wait(time.Microsecond)
	d.claimed(10, "a")
	d.finish(1, store.Delivery{ID: n.ID, Attempt: 2, Error: "gone"})
	d.pending(0)
	d.wait(day)
	d.claimed(10)
	d.finish(0, store.Delivery{ID: n.ID, Attempt: 2, Delivered: true})
}

func noticeCopied(d *serviceDriver) {
	d.enqueue("a")
	n := d.claimed(10, "a")[0]
	copied := func(attempt int) store.Delivery {
		return store.Delivery{ID: n.ID, Attempt: attempt, Delivered: true, Copies: []wire.Notice{{Kind: n.Kind, To: n.To, Key: "one"}, {Kind: n.Kind, To: n.To, Key: "two"}}}
	}
	d.finish(0, copied(2))
	d.pending(1)
	d.finish(1, copied(1))
	d.finish(0, copied(1))
	d.pending(2)
	list, err := d.store.PendingNotices(d.Context(), 10)
	d.must(err)
	for _, n := range list {
		if n.Key != "one" && n.Key != "two" || !n.DueAt.Equal(d.now) || !n.CreatedAt.Equal(d.now) {
			d.Errorf("copied as %+v", n)
		}
	}
}

// message makes a message of notices that were claimed, for which the last stands.
func message(list ...wire.Notice) store.Message {
	m := store.Message{ID: list[len(list)-1].ID, Body: `{"text":  "x"}`}
	for _, n := range list {
		m.Notices = append(m.Notices, store.ClaimedNotice{ID: n.ID, Attempt: n.Attempts})
	}
	return m
}

// waiting wants notices to wait, in any order, all until the same time.
func (d *serviceDriver) waiting(until time.Time, attempts int, list ...wire.Notice) {
	d.Helper()
	all, err := d.store.PendingNotices(d.Context(), sqldb.MaxPage)
	d.must(err)
	for _, n := range list {
		if i := slices.IndexFunc(all, func(x wire.Notice) bool { return x.ID == n.ID }); i < 0 || !all[i].DueAt.Equal(until) || all[i].Attempts != attempts {
			d.Errorf("%s does not wait until %v after %d attempts: %+v", n.Key, until, attempts, all)
		}
	}
}

func messageSaved(d *serviceDriver) {
	d.enqueue("a", "b", "c", "alone")
	list := d.claimed(10, "a", "b", "c", "alone")
	parts, head := list[:3], list[2]
	d.must(d.store.SaveMessage(d.Context(), message(parts...)))
	d.wait(noticeLease)
	again := d.claimed(10, "c", "alone")
	if n := again[0]; n.MessageID != head.ID || n.Message != `{"text":  "x"}` || n.Attempts != 2 {
		d.Errorf("the message is claimed as %+v", n)
	}
	if n := again[1]; !n.MessageID.IsZero() || n.Message != "" {
		d.Errorf("a notice is in a message: %+v", n)
	}
	d.waiting(d.now.Add(noticeLease), 2, list...)
	at := d.now.Add(time.Hour)
	d.finish(0, store.Delivery{ID: head.ID, Attempt: 1, Delivered: true}, store.Delivery{ID: parts[0].ID, Attempt: 2, Delivered: true}) // late, and not the one
	d.finish(1, store.Delivery{ID: head.ID, Attempt: 2, RetryAt: at, Error: "no answer"})
	d.waiting(at, 2, parts...)
	d.enqueue("new")
	d.wait(time.Hour)
	d.claimed(10, "c", "alone", "new")
	d.finish(1, store.Delivery{ID: head.ID, Attempt: 3, Delivered: true})
	d.pending(2)
	d.wait(day)
	d.claimed(10, "alone", "new")
}

func messageKept(d *serviceDriver) {
	d.enqueue("a", "b", "c", "late")
	list := d.claimed(10, "a", "b", "c", "late")
	refused := func(m store.Message) {
		d.Helper()
		d.wantErr(d.store.SaveMessage(d.Context(), m), store.ErrConflict)
	}
	d.must(d.store.SaveMessage(d.Context(), message(list[0])))
	refused(message(list[0]))
	refused(message(list[1], list[0])) // it is in another
	refused(message(list[0], list[1]))
	stale := list[3]
	stale.Attempts = 0
	refused(message(stale, list[1])) // somebody else has it
	d.finish(1, store.Delivery{ID: list[3].ID, Attempt: 1, Delivered: true})
	refused(message(list[1], list[3])) // it is delivered
	bad := message(list[1])
	bad.Body = "{"
	d.wantErr(d.store.SaveMessage(d.Context(), bad), recoup.ErrBadJSON)
	d.must(d.store.SaveMessage(d.Context(), message(list[1], list[2]))) // nothing was kept of what was refused
	d.wait(noticeLease)
	again := d.claimed(10, "a", "c")
	d.finish(2, store.Delivery{ID: again[0].ID, Attempt: 2}, store.Delivery{ID: again[1].ID, Attempt: 2})
	d.pending(0)
}

func messageRace(d *serviceDriver) {
	for range 20 {
		d.add("", "", "", "", "")
		list, err := d.store.ClaimNotices(d.Context(), d.now, noticeLease, 5)
		d.must(err)
		d.must(d.store.SaveMessage(d.Context(), message(list...)))
	}
	seen := map[recoup.ID]int{}
	for i := range 3 { // twice nobody notes what became of them
		d.wait(noticeLease)
		d.crowded(3, i == 2, func(n wire.Notice) { seen[n.MessageID]++ })
	}
	d.pending(0)
	if len(seen) != 20 {
		d.Errorf("%d messages were claimed, want 20", len(seen))
	}
	for id, n := range seen {
		if n != 3 {
			d.Errorf("the message %v was claimed %d times, want 3", id, n)
		}
	}
}

// crowded lets a crowd claim all that is due, a few at a time, and deliver it or not.
func (d *serviceDriver) crowded(limit int, deliver bool, see func(wire.Notice)) {
	d.Helper()
	var mu sync.Mutex
	d.together(crowd, func(int) error {
		for {
			list, err := d.store.ClaimNotices(d.Context(), d.now, noticeLease, limit)
			if err != nil || len(list) == 0 {
				return err
			}
			var results []store.Delivery
			mu.Lock()
			for _, n := range list {
				see(n)
				results = append(results, store.Delivery{ID: n.ID, Attempt: n.Attempts, Delivered: true})
			}
			mu.Unlock()
			if !deliver {
				continue
			}
			if n, err := d.store.FinishNotices(d.Context(), d.now, results); err != nil || n != len(results) {
				return fmt.Errorf("%d of %d were finished: %w", n, len(results), err)
			}
		}
	})
}

func noticeRace(d *serviceDriver) {
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("k%02d", i))
	}
	d.add(keys...)
	seen := map[string]int{}
	d.crowded(7, true, func(n wire.Notice) { seen[n.Key]++ })
	for _, key := range keys {
		if seen[key] != 1 {
			d.Errorf("%s was delivered %d times", key, seen[key])
		}
	}
	d.pending(0)
}

func noticeDedup(d *serviceDriver) {
	d.enqueue("a")
	same := wire.Notice{Kind: "OTHER", To: "someone", Key: "a"}
	free := wire.Notice{Kind: "ALERT", To: "ops"}
	under := func(key string) wire.Notice {
		n := free
		n.Key = key
		return n
	}
	n, err := d.store.AddNotices(d.Context(), d.now, []wire.Notice{same, free, free, under("b"), under("b")})
	if d.must(err); n != 3 {
		d.Errorf("%d were added, want 3", n)
	}
	d.pending(4)
	list := d.claimed(1, "a")
	d.finish(1, store.Delivery{ID: list[0].ID, Attempt: 1, Delivered: true})
	var added atomic.Int64
	d.together(8, func(i int) error {
		keys := []wire.Notice{under("x"), under("a"), under("y")}
		if i%2 == 1 {
			keys[0], keys[2] = keys[2], keys[0]
		}
		n, err := d.store.AddNotices(d.Context(), d.now, keys)
		added.Add(int64(n))
		return err
	})
	if added.Load() != 2 {
		d.Errorf("%d were added at once, want 2", added.Load())
	}
	_, err = d.store.AddNotices(d.Context(), d.now, []wire.Notice{free, {Kind: "ALERT", To: "ops", Body: "{"}})
	d.wantErr(err, recoup.ErrBadJSON)
	d.pending(5)
}

func noticeOfError(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	d.now = errors.Now()
	e := errors.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	errors.Apply(e.ID, lifecycle.Park{By: "ada", Reason: "look"})
	n := d.claimed(10, "")[0]
	if n.ErrorID != e.ID || n.Kind != wire.NoticeParked || n.To == "" || n.Body != "" {
		d.Errorf("claimed %+v", n)
	}
	d.finish(1, store.Delivery{ID: n.ID, Attempt: 1, Delivered: true})
	d.pending(0)
}

func noticeWaits(d *serviceDriver) {
	one, two := d.ids.New(d.now), d.ids.New(d.now)
	for i, n := range []wire.Notice{
		{Kind: wire.NoticePaged, ErrorID: one}, {Kind: wire.NoticePaged, ErrorID: two},
		{Kind: wire.NoticePageOver, ErrorID: one}, {Kind: wire.NoticePaged, ErrorID: one},
		{Kind: wire.NoticeAlert}, {Kind: wire.NoticeJobLate}, {Kind: wire.NoticeParked},
		{Kind: wire.NoticePaged, ErrorID: one}, {Kind: wire.NoticeAlert},
	} {
		n.To, n.Key, n.Body = "ops", fmt.Sprint(i), `{"a": 1}`
		_, err := d.store.AddNotices(d.Context(), d.now, []wire.Notice{n})
		d.must(err)
		d.wait(time.Microsecond)
	}
	list := d.claimed(10, "0", "1", "2", "3", "4", "5", "6", "7", "8") // which wait nonetheless
	d.finish(1, store.Delivery{ID: list[7].ID, Attempt: 1, Delivered: true})
	d.finish(1, store.Delivery{ID: list[8].ID, Attempt: 1})
	for _, row := range []struct {
		kind   wire.NoticeKind
		errors []recoup.ID
		want   []int
	}{
		{wire.NoticePaged, []recoup.ID{one}, []int{0, 3}}, {wire.NoticePaged, []recoup.ID{two, one}, []int{0, 1, 3}},
		{wire.NoticePaged, nil, nil}, {wire.NoticePaged, []recoup.ID{d.ids.New(d.now)}, nil}, {wire.NoticeAlert, []recoup.ID{one}, nil},
		{wire.NoticeAlert, nil, []int{4}}, {wire.NoticeJobLate, nil, []int{5}}, {wire.NoticeJobRecovered, nil, nil},
	} {
		var want []wire.Notice
		for _, i := range row.want {
			n := list[i]
			n.DueAt = d.now.Add(noticeLease) // again
			want = append(want, n)
		}
		got, err := d.store.WaitingNotices(d.Context(), row.kind, row.errors)
		d.must(err)
		wantSame(d, got, want)
	}
}

func noticePurged(d *serviceDriver) {
	d.enqueue("a", "b", "c", "waits")
	for i, n := range d.claimed(3, "a", "b", "c") {
		d.finish(1, store.Delivery{ID: n.ID, Attempt: 1, Delivered: i != 1})
		d.wait(time.Minute)
	}
	purge := func(before time.Time, limit, want int) {
		n, err := d.store.PurgeNotices(d.Context(), before, limit)
		if d.must(err); n != want {
			d.Fatalf("%d were purged, want %d", n, want)
		}
	}
	purge(d.now.Add(-3*time.Minute), 10, 0)
	purge(d.now.Add(-time.Minute), 1, 1)
	purge(d.now.Add(-time.Minute), 10, 1)
	purge(d.now, 10, 1)
	purge(d.now.Add(day), 10, 0)
	d.pending(1)
	d.enqueue("a") // its key is free again
}

func receiptPurged(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	for i := range 5 {
		errors.reportOnce("e1", errors.receipt(fmt.Sprint(i), "x"))
		errors.Wait(time.Minute)
	}
	purge := func(now time.Time, limit, want int) {
		n, err := d.store.PurgeReceipts(d.Context(), now, limit)
		if d.must(err); n != want {
			d.Fatalf("%d were purged, want %d", n, want)
		}
	}
	first := Epoch().Add(day)
	purge(first.Add(-time.Microsecond), 10, 0)
	purge(first, 10, 1)
	purge(first.Add(3*time.Minute), 2, 2)
	purge(first.Add(3*time.Minute), 10, 1)
	if out := errors.reportOnce("e1", errors.receipt("4", "x")); !out.Repeated {
		d.Error("a receipt that counts was purged")
	}
	if out := errors.reportOnce("e1", errors.receipt("0", "x")); out.Repeated {
		d.Error("a receipt that was purged still counts")
	}
}
