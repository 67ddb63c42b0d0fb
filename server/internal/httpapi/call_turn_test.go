package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/turn"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestWritesTakeTurns has no turns at all: work of a request that writes waits until the request's
// time is up, that of a request that reads does not wait.
func TestWritesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &Server{admission: newAdmissionControl(Limits{}, time.Now), turns: turn.New(0, time.Now), reads: turn.New(1, time.Now)}
		a.Now = time.Now
		serve := func(method string) (done bool, err error) {
			c := &Call{
				Request: httptest.NewRequest(method, "/", http.NoBody), w: httptest.NewRecorder(), Key: &wire.Key{ID: recoup.ID{1}}, Now: time.Now(),
				route: &Route{Info: RouteInfo{Method: method}, serve: func(c *Call) (any, error) {
					return nil, turn.Each(c.Request.Context(), 1, func(int) error { done = true; return nil })
				}},
			}
			v, err := a.admission.admit(c)
			if err != nil {
				t.Fatal(err)
			}
			defer v.end()
			_, err = a.serve(c, v)
			return done, err
		}
		if done, err := serve(http.MethodGet); !done || err != nil {
			t.Errorf("GET: done %v, %v", done, err)
		}
		if done, err := serve(http.MethodPost); done || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("POST: done %v, %v", done, err)
		}
	})
}
