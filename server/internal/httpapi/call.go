package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/access"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Call is one request to a route. Handlers use its exported fields and methods.
type Call struct {
	Request *http.Request
	Key     *wire.Key // nil: no key was needed
	Caller  access.Caller
	Body    []byte
	Now     time.Time

	w        http.ResponseWriter
	server   *Server
	service  any // that the route is mounted with
	route    *Route
	visit    *visit
	document any          // the body, once it was read for its values
	once     *idempotency // nil: not asked for, or not yet read
	connection
}

// Context returns the context of the request.
func (c *Call) Context() context.Context { return c.Request.Context() }

// ResponseHeader returns the header of the answer.
func (c *Call) ResponseHeader() http.Header { return c.w.Header() }

// Act returns an administrative act of the caller, for the audit.
func (c *Call) Act(reason string) store.Act { return c.Caller.Act(reason, c.Now) }

// handle makes the handler of a route and its service.
func (s *Server) handle(rt *Route, service any) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		c := &Call{w: w, Request: r, server: s, service: service, route: rt, Now: s.Now(), connection: connection{*http.NewResponseController(w), s.Wall}}
		end := func(error) {}
		if s.Trace != nil {
			var ctx context.Context
			ctx, end = s.Trace(r, rt.Info.Method+" "+rt.Info.Path)
			c.Request = r.WithContext(ctx)
		}
		err := s.run(c)
		end(err)
		if err != nil {
			s.refusals.note(c, s.client(r), err)
			c.writeWithin(0)
		}
		return err
	})
}

// timeout is how long a request may take. A claim has it on top of its wait.
func (s *Server) timeout(rt *Route) time.Duration {
	limit := s.admission.limits.Time
	switch {
	case rt.load == LoadWaiting:
		return limit + lease.MaxWait
	case rt.long:
		return 3 * limit
	}
	return limit
}

// run takes a request through its route: authorize, receive, admit, serve, answer.
// It has a slot only while it is served: neither a body that comes slowly nor an
// answer that is read slowly keeps others out.
func (s *Server) run(c *Call) error {
	if err := s.authorize(c); err != nil {
		return err
	}
	v, err := s.admission.admit(c)
	if err != nil {
		return err
	}
	defer v.end()
	c.visit = v
	if err := c.readBody(v); err != nil {
		return err
	}
	if c.route.stream != nil && wantsEvents(c.Request) {
		return c.route.stream(c)
	}
	answer, err := s.serve(c, v)
	if err != nil {
		return err
	}
	c.answer(answer)
	return nil
}

// serve runs a request that is complete and returns its answer.
func (s *Server) serve(c *Call, v *visit) ([]byte, error) {
	if err := v.enter(c.route.load); err != nil {
		return nil, err
	}
	var answer []byte
	defer func() { v.leave(len(answer)) }()
	ctx := c.Request.Context()
	if c.route.writes() && c.Key != nil {
		ctx = turn.With(ctx, s.turns, c.Key.ID)
	}
	if !c.route.bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout(c.route))
		defer cancel()
	}
	c.Request = c.Request.WithContext(ctx)
	if c.Body != nil { // which may have taken its time
		c.Now = s.Now()
	}
	if c.route.Info.Repeat == RepeatNotIdempotent && c.Request.Header.Get("Idempotency-Key") != "" {
		return nil, fault.BadField("Idempotency-Key", "unsupported", "what is sent here twice is done twice, whatever its Idempotency-Key; send it without")
	}
	err := s.inTurn(c, func() (err error) {
		answer, err = s.produce(c)
		return err
	})
	return answer, err
}

// longReads is how many long reads are served at once, of which one key has one.
const longReads = 2

// inTurn serves a request that may read much once its key has a turn. One key has all turns but one,
// so that its lists do not delay those of another, and connections to the database are left for
// everything else. Long reads have turns of their own.
func (s *Server) inTurn(c *Call, do func() error) error {
	if rt := c.route; c.Key == nil || rt.writes() && !rt.searches || rt.bounded || rt.quick {
		return do()
	}
	turns := s.reads
	if c.route.long {
		turns = s.longReads
	}
	return s.inTurnOf(c, turns, do)
}

// inTurnOf serves a request once its key has one of these turns.
func (s *Server) inTurnOf(c *Call, turns *turn.Turns, do func() error) error {
	var failed error
	err := turn.Each(turn.With(c.Request.Context(), turns, c.Key.ID), 1, func(int) error {
		failed = do()
		return nil
	})
	if err != nil {
		return c.Failure(err) // its time was up before its turn
	}
	return failed
}

// InLongTurn does something that may read much once the key of the call has a turn of the long reads.
func (c *Call) InLongTurn(do func() error) error {
	if c.Key == nil {
		return do()
	}
	return c.server.inTurnOf(c, c.server.longReads, do)
}

// produce does what a request asks for and returns the answer.
func (s *Server) produce(c *Call) ([]byte, error) {
	out, err := c.route.serve(c)
	if err != nil {
		return nil, c.Failure(err)
	}
	answer, err := s.encode(out)
	if err == nil && c.route.writes() {
		answer = withRequestID(answer, c.w.Header().Get(fault.RequestIDHeader))
	}
	return answer, err
}

// Values of headers, which nobody changes.
var nosniff, noStore, jsonMedia = []string{"nosniff"}, []string{"no-store"}, []string{fault.MediaJSON}

func (c *Call) answer(body []byte) {
	h := c.w.Header() // names as they are written, and values that all answers share
	h["X-Content-Type-Options"], h["Cache-Control"], h["Content-Type"] = nosniff, noStore, jsonMedia
	if c.route.media != "" {
		h["Content-Type"] = []string{c.route.media}
	}
	c.writeWithin(len(body))
	c.w.WriteHeader(c.route.Info.Status)
	if c.route.media == "" {
		body = append(body, '\n')
	}
	_, _ = c.w.Write(body) // it fails when the caller has gone
}

// completed adds to a VALIDATION_ERROR what else the route's check finds: an operation
// may have stopped at the first thing that is wrong.
func (c *Call) completed(in any, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationError || c.route.check == nil {
		return err
	}
	var found fault.FieldErrors
	found.Merge(err)
	known := found.Len()
	if late := c.checkRest(in, &found); late != nil {
		return late
	}
	if found.Len() == known {
		return err
	}
	return found.Err()
}
