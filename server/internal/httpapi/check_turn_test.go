package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/turn"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

type checkedItem struct {
	Name string `json:"name"`
}

type checkedItemsIn struct {
	Body struct {
		Items []checkedItem `json:"items"`
	}
}

// invalidBatch serves a batch of 1,000 items, one of which has an unknown member. It returns how many
// items were checked.
func invalidBatch(ctx context.Context, t *testing.T, turns *turn.Turns, check func() error) (checked int, err error) {
	t.Helper()
	a := &Server{admission: newAdmissionControl(Limits{}, time.Now), turns: turns, reads: turn.New(1, time.Now)}
	a.Now = time.Now
	rt := Op(http.MethodPost, "/", "", func(any, *Call, *checkedItemsIn) (struct{}, error) {
		t.Error("an invalid request is carried out")
		return struct{}{}, nil
	})
	rt.check = func(c *Call, in any) error {
		items := in.(*checkedItemsIn).Body.Items
		return CheckItems(c.Request.Context(), "items", items, nil, func(*checkedItem) error {
			checked++
			return check()
		})
	}
	body := `{"items":[{"stack":"x"}` + strings.Repeat(`,{"name":"n"}`, 999) + `]}`
	c := &Call{
		Request: httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody), w: httptest.NewRecorder(),
		Key: &wire.Key{ID: recoup.ID{1}}, Now: time.Now(), route: rt, Body: []byte(body),
	}
	v, err := a.admission.admit(c)
	if err != nil {
		t.Fatal(err)
	}
	defer v.end()
	_, err = a.serve(c, v)
	return checked, err
}

// The check of an invalid batch ends when the time of the request is up, and the answer does not
// name the database.
func TestInvalidBatchEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checked, err := invalidBatch(t.Context(), t, turn.New(1, time.Now), func() error { time.Sleep(10 * time.Second); return nil })
		if e := fault.From(err); e.Code != fault.CodeServiceOverloaded || e.RetryAfter == 0 || strings.Contains(e.Message, "database") {
			t.Errorf("got %v, retry after %v", err, e.RetryAfter)
		}
		if checked > 4 {
			t.Errorf("%d items were checked, of which each takes 10 of the 30 seconds", checked)
		}
	})
}

func TestInvalidBatchEndsWithItsClient(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	checked, err := invalidBatch(ctx, t, turn.New(1, time.Now), func() error { hangUp(); return nil })
	if e := fault.From(err); checked != 1 || e.Code != fault.CodeRequestCancelled {
		t.Errorf("%d items were checked after the client hung up: %v", checked, err)
	}
}

// Items are checked in turns of the key: another key is served before all of them are checked.
func TestInvalidBatchTakesTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, total, at := turn.New(1, time.Now), 0, 0
		var other chan error
		checked, err := invalidBatch(t.Context(), t, turns, func() error {
			if total++; other == nil {
				other = make(chan error, 1)
				go func() {
					other <- turn.Each(turn.With(t.Context(), turns, recoup.ID{2}), 1, func(int) error { at = total; return nil })
				}()
				if synctest.Wait(); len(other) > 0 {
					t.Error("items are checked without a turn")
				}
			}
			time.Sleep(2 * time.Millisecond)
			return nil
		})
		if failed := <-other; failed != nil || at > 2 {
			t.Errorf("another key was served after %d of %d items: %v", at, checked, failed)
		}
		if e := fault.From(err); e.Code != fault.CodeValidationError || checked != 1000 {
			t.Errorf("%d items were checked: %v", checked, err)
		}
	})
}

// Items are checked until as much is found as an answer lists.
func TestInvalidBatchEndsWhenFull(t *testing.T) {
	t.Parallel()
	checked, err := invalidBatch(t.Context(), t, turn.New(1, time.Now), func() error { return fault.BadField("name", "pattern", "name is bad") })
	if listed := len(fault.From(err).Fields()); listed != fault.MaxFieldErrors || checked > fault.MaxFieldErrors {
		t.Errorf("%d items were checked, %d errors are listed", checked, listed)
	}
}
