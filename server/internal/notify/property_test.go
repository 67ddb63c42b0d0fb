package notify_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// sections are routes and digests that take turns.
var sections = []string{
	"  default: [{channel: hook}]\n",
	"  default: [{channel: second}]\n",
	"  default: [{channel: hook}, {channel: second}]\n",
	"  default: [{channel: hook}]\n  digests: {ESCALATED: 5m, EXPIRING: 1h}\n",
}

// moment is something that happens to notices on their way.
type moment struct {
	what  string
	n     int // how many, or which
	after time.Duration
}

func drawMoments(t *rapid.T) []moment {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) moment {
		return moment{
			rapid.SampledFrom([]string{"new", "new", "send", "send", "send few", "send and die", "send few and die", "lose the answer", "refuse", "overtake", "reroute"}).Draw(t, "what"),
			rapid.IntRange(1, 4).Draw(t, "n"),
			rapid.SampledFrom([]time.Duration{0, time.Microsecond, 5 * time.Second, time.Minute, 3 * time.Minute, time.Hour}).Draw(t, "after"),
		}
	}), 1, 25).Draw(t, "moments")
}

// happen lets one moment come to pass.
func (w *world) happen(m moment) {
	kinds := []wire.NoticeKind{wire.NoticeEscalated, wire.NoticeExpiring}
	switch m.what {
	case "new":
		for i := range m.n {
			w.enqueue(notice(kinds[i%2], fmt.Sprint("team-", m.n%2), ""), notice(kinds[i%2], "team-0", ""))
		}
	case "send":
		w.works(w.db)
	case "send few":
		w.works(few{w.db, m.n})
	case "send and die":
		w.works(dying(w.db))
	case "send few and die":
		w.works(few{dying(w.db), m.n})
	case "lose the answer", "refuse":
		w.hook.next(status(http.StatusBadGateway))
		w.second.next(status(http.StatusServiceUnavailable))
	case "overtake": // while a message is being received its lease is over, and another node is at work
		w.hook.next(func(http.ResponseWriter, *http.Request) {
			w.Wait(3 * time.Minute)
			w.works(few{w.db, m.n})
		})
	case "reroute":
		w.reroute(sections[m.n%len(sections)])
	}
	w.Wait(m.after)
}

// works lets a node take what is due and deal with it, as far as its store lets it.
func (w *world) works(s notify.Store) {
	d := w.dispatcher(s)
	if err := d.Run(w.T.Context()); err != nil && !errors.Is(err, errDied) {
		w.T.Error(err)
	}
	d.Wait()
}

// However claims, sends, lost answers, expired leases, new notices and new routes
// interleave, no notice comes under two ids, no id with two texts, and all come.
func TestOneIDWhateverHappens(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		rapid.Check(t, func(t *rapid.T) {
			moments := drawMoments(t)
			w.reroute(sections[0])
			w.hook.forget()
			w.second.forget()
			start := w.Now()
			for _, m := range moments {
				w.happen(m)
			}
			for range 12 {
				w.Wait(time.Hour)
				w.run()
			}
			w.pending(0)
			came, wrong := arrivals(w.hook, w.second)
			for _, line := range slices.Concat(wrong, w.lost(start, came), w.twice(start, w.hook), w.twice(start, w.second)) {
				t.Error(line)
			}
			w.Wait(time.Hour)
		})
	})
}

// lost returns the notices since a time that were not passed on and did not come.
func (w *world) lost(since time.Time, came map[string]string) (lost []string) {
	w.T.Helper()
	passed := map[recoup.ID]bool{}
	list := w.since(since)
	for _, n := range list {
		passed[notify.Public(n).CopyOf] = true
	}
	for _, n := range list {
		if came[n.ID.String()] == "" && !passed[n.ID] {
			lost = append(lost, fmt.Sprintf("the notice %v never came: %+v", n.ID, n))
		}
	}
	return lost
}

// twice returns the notices since a time that a receiver got under two ids, of which one
// may be that of a copy.
func (w *world) twice(since time.Time, r *receiver) (twice []string) {
	w.T.Helper()
	came, _ := arrivals(r)
	first := map[recoup.ID]string{}
	for _, n := range w.since(since) {
		origin, message := n.ID, came[n.ID.String()]
		if of := notify.Public(n).CopyOf; !of.IsZero() {
			origin = of
		}
		if before := first[origin]; before != "" && message != "" && before != message {
			twice = append(twice, fmt.Sprintf("%v came in the message %s and, as a copy or not, in the message %s", origin, before, message))
		}
		first[origin] = cmp.Or(first[origin], message)
	}
	return twice
}

// since returns the notices since a time.
func (w *world) since(start time.Time) (list []wire.Notice) {
	w.T.Helper()
	for page := (sqldb.Page{Limit: sqldb.MaxPage}); ; {
		part, next, err := w.db.Notices(w.T.Context(), wire.NoticeFilter{}, page)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, n := range part {
			if n.CreatedAt.Before(start) {
				return list
			}
			list = append(list, n)
		}
		if page.Cursor = next; next.IsZero() {
			return list
		}
	}
}
