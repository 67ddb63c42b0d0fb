package endtoend

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// crashMembers is how many errors the operation has that is cut short: many chunks.
const crashMembers = 5000

// TestOperationOutlivesItsNode kills the node that carries an operation out, in the midst of
// it, again and again. In the end every member has one result, and every error was acted on
// once, in the name of who confirmed.
func TestOperationOutlivesItsNode(t *testing.T) {
	onEither(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		c := func() *client.Client {
			own, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
			if err != nil {
				t.Fatal(err)
			}
			return own
		}
		for from := 0; from < crashMembers; from += 1000 {
			reports := make([]recoup.Report, 1000)
			for i := range reports {
				reports[i] = recoup.Report{Table: workTable, EntityID: fmt.Sprint("E-", from+i), Code: "NETWORK_TIMEOUT"}
			}
			if _, err := c().ReportBatch(t.Context(), reports); err != nil {
				t.Fatal(err)
			}
		}
		o, err := c().Operations.Create(t.Context(), recoup.NewOperation{Act: recoup.ActPark, Filter: recoup.ErrorFilter{Table: workTable}})
		if err != nil || o.Members != crashMembers {
			t.Fatalf("%+v, %v", o, err)
		}
		if _, err := c().Operations.Confirm(t.Context(), o.ID, recoup.Act{Reason: "outage"}); err != nil {
			t.Fatal(err)
		}
		var amid []int
		for _, share := range []int{1, 2, 3} {
			at := s.reaches(c(), o.ID, share*crashMembers/4)
			if err := s.signal(syscall.SIGKILL); err == nil {
				t.Fatal("a killed node ended well")
			}
			s.start()
			if at.State == recoup.OperationRunning {
				amid = append(amid, at.Applied)
			}
		}
		done := s.reaches(c(), o.ID, crashMembers)
		if done.State != recoup.OperationDone || done.Applied != crashMembers || done.Refused != 0 {
			t.Fatalf("%+v", done)
		}
		t.Logf("killed after %v of %d", amid, crashMembers)
		s.actedOnce(c(), o.ID)
	})
}

// reaches waits until so many members of an operation have their result.
func (s *site) reaches(c *client.Client, id recoup.ID, n int) (o recoup.Operation) {
	s.Helper()
	for {
		var err error
		if o, err = c.Operations.Get(s.Context(), id); err != nil {
			s.Fatal(err)
		}
		if o.Applied+o.Refused >= n && (n < o.Members || o.Over()) {
			return o
		}
	}
}

// actedOnce looks at every member and at the history of its error.
func (s *site) actedOnce(c *client.Client, id recoup.ID) {
	s.Helper()
	seen := map[recoup.ID]bool{}
	for from := 0; ; {
		page, err := c.Operations.Items(s.Context(), id, "", from, 1000)
		if err != nil {
			s.Fatal(err)
		}
		for _, m := range page.Items {
			if seen[m.ErrorID] || m.Result != recoup.ResultApplied || m.EndedAt.IsZero() {
				s.Fatalf("%+v, seen %v", m, seen[m.ErrorID])
			}
			seen[m.ErrorID] = true
			if m.Position%50 != 0 {
				continue
			}
			history, err := c.Errors.History(s.Context(), m.ErrorID)
			if err != nil || len(history) != 2 || history[1].Input != "park" {
				s.Fatalf("%s: %+v, %v", m.ErrorID, history, err)
			}
		}
		if from = page.Next; from == 0 {
			break
		}
	}
	if len(seen) != crashMembers {
		s.Errorf("%d members", len(seen))
	}
}
