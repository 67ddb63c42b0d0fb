package conformance

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// serviceClause is one sentence about what the service keeps and how it is tried.
type serviceClause struct {
	says string
	try  func(d *serviceDriver)
}

// RunService holds a store to the specification of what the service keeps. Each
// clause runs in parallel on a fresh store; open registers its own clean-up.
func RunService(t *testing.T, open func(t *testing.T) Service) {
	clauses := slices.Concat(keyClauses(), sessionClauses(), viewClauses(), operationClauses(), changedClauses(), movingClauses(), auditClauses(), policyClauses(), platformKeyClauses(), leaderClauses(), overdueClauses(),
		outboxClauses(), processedClauses(), wakeClauses(), idClauses())
	for _, c := range clauses {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			c.try(newServiceDriver(t, open(t)))
		})
	}
}

// serviceDriver uses a store with a clock that is moved by hand.
type serviceDriver struct {
	TB
	store Service
	ids   *recoup.IDSource
	now   time.Time
}

func newServiceDriver(t TB, s Service) *serviceDriver {
	return &serviceDriver{TB: t, store: s, ids: recoup.NewIDSource(rand.Reader), now: Epoch().Add(123456 * time.Microsecond)}
}

func (d *serviceDriver) wait(by time.Duration) { d.now = d.now.Add(by) }

// act is something that somebody does now.
func (d *serviceDriver) act(by string) store.Act {
	return store.Act{By: by, Reason: "because", At: d.now}
}

func (d *serviceDriver) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatalf("%v", err)
	}
}

// wantErr says what an answer must be.
func (d *serviceDriver) wantErr(got, want error) {
	d.Helper()
	if !errors.Is(got, want) {
		d.Fatalf("answered with %v, want %v", got, want)
	}
}

// wantSame says that two values must be equal. An empty list is as good as none.
func wantSame[T any](d *serviceDriver, got, want T) {
	d.Helper()
	if v, w := reflect.ValueOf(got), reflect.ValueOf(want); v.Kind() == reflect.Slice && v.Len()+w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		d.Fatalf("got\n%+v, want\n%+v", got, want)
	}
}

// together runs n functions at once and reports what they return.
func (d *serviceDriver) together(n int, run func(i int) error) {
	d.Helper()
	start := make(chan struct{})
	results := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			for {
				if results[i] = run(i); !errors.Is(results[i], store.ErrBusy) {
					return
				}
			}
		})
	}
	close(start)
	all.Wait()
	d.must(errors.Join(results...))
}

// acts returns the rows of the audit, oldest first.
func (d *serviceDriver) acts() []wire.AuditEntry {
	d.Helper()
	list, _, err := d.store.Audit(d.Context(), wire.AuditFilter{}, store.AuditCursor{}, sqldb.MaxPage)
	d.must(err)
	slices.Reverse(list)
	return list
}

// wantActs says which acts the audit must have, in order.
func (d *serviceDriver) wantActs(want ...string) []wire.AuditEntry {
	d.Helper()
	list := d.acts()
	got := make([]string, len(list))
	for i, e := range list {
		got[i] = fmt.Sprint(e.Actor, " ", e.Act, " ", e.Target)
		if e.Reason != "because" || e.At.IsZero() {
			d.Errorf("%s at %v because of %q", got[i], e.At, e.Reason)
		}
	}
	if !slices.Equal(got, want) {
		d.Fatalf("the audit tells of %q, want %q", got, want)
	}
	return list
}

// walked reads a list to its end, page by page.
func walked[T, C any](d *serviceDriver, read func(after C) ([]T, C, error), end func(C) bool) []T {
	d.Helper()
	var all []T
	var after C
	for {
		list, next, err := read(after)
		d.must(err)
		all = append(all, list...)
		if after = next; end(next) {
			return all
		}
	}
}
