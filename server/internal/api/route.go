package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Role is what a key may do: the routes say which of them each is for.
type Role string

// The roles of keys.
const (
	Ingest   Role = "ingest"
	Worker   Role = "worker"
	Operator Role = "operator"
	Admin    Role = "admin"
	Reader   Role = "reader"
)

// Roles lists every role.
func Roles() []Role { return []Role{Ingest, Worker, Operator, Admin, Reader} }

// load says how a request is treated when there are too many.
type load int

const (
	sheddable load = iota // ingest and workers: turned away early, they come again
	priority              // the promotion gate and the operators' calls: kept alive
	waiting               // claims that wait: bounded by themselves
	streaming             // streams of events: bounded by themselves, they take nobody's slot
	always                // liveness: a node that does not answer is killed
)

// repeat says what comes of a request that is sent twice.
type repeat int

const (
	idempotent    repeat = iota // the same, by its nature
	keyed                       // the same if it has an idempotency key
	notIdempotent               // it is done twice; a request that hopes otherwise is refused
)

// route is one operation: how it is reached, who may call it, what it takes and
// returns. The handler, the documentation and the tests of permissions are all
// made from it.
type route struct {
	method, path string
	tag, summary string
	status       int
	roles        []Role // none: no key is needed
	global       bool   // a key that is for some hubs only is refused
	load         load
	repeat       repeat
	long         bool // it may touch thousands of errors
	bounded      bool // it ends by itself in time
	quick        bool // it reads little, and needs no turn for it
	searches     bool // it reads much though it is no GET
	pure         bool // it changes nothing though it is no GET
	mayLack      bool // the body may be left out
	maxBody      int64
	carried      bool   // by the bus or the ledger's buffer: it does without the database
	media        string // of the answer; empty: JSON
	in, out      reflect.Type
	required     []string // members that this operation demands of a body that others share

	serve func(a *API, c *call) (any, error)

	// stream answers instead who asks for a stream of events; nil: nobody gets one.
	stream func(a *API, c *call, v *visit) error

	// check says all that is wrong with a request, in terms of the domain, without doing
	// anything. It is asked of those alone that are refused anyway, so that what the
	// operation would say next comes in the same answer; nil: it would say nothing.
	check func(a *API, c *call, in any) error
}

// Limits of a request's body.
const (
	smallBody = 64 << 10
	batchBody = 8 << 20
)

// operation makes a route from a function: In is a struct of parameters, with a
// Body or without, Out is what is returned as JSON.
func operation[In, Out any](method, path, summary string, run func(*API, *call, *In) (Out, error)) *route {
	bind := newBinder(reflect.TypeFor[In]())
	return &route{
		method: method, path: path, summary: summary, status: http.StatusOK, maxBody: smallBody,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		serve: func(a *API, c *call) (any, error) {
			in := new(In)
			if err := bind.read(a, c, reflect.ValueOf(in).Elem()); err != nil {
				return nil, err
			}
			out, err := run(a, c, in)
			return out, c.illustrated(c.completed(a, in, err))
		},
	}
}

// checked gives a route its check.
func checked[In any](r *route, check func(*API, *call, *In) error) *route {
	r.check = func(a *API, c *call, in any) error { return check(a, c, in.(*In)) } //nolint:errcheck // the binder has made it
	return r
}

// completed adds to a VALIDATION_ERROR what else the route's check finds: an operation
// may have stopped at the first thing that is wrong.
func (c *call) completed(a *API, in any, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationError || c.route.check == nil {
		return err
	}
	var found fault.FieldErrors
	found.Merge(err)
	known := found.Len()
	if late := c.checkRest(a, in, &found); late != nil {
		return late
	}
	if found.Len() == known {
		return err
	}
	return found.Err()
}

func (r *route) by(roles ...Role) *route      { r.roles = roles; return r }
func (r *route) tagged(tag string) *route     { r.tag = tag; return r }
func (r *route) answers(status int) *route    { r.status = status; return r }
func (r *route) under(l load) *route          { r.load = l; return r }
func (r *route) takesUpTo(bytes int64) *route { r.maxBody = bytes; return r }
func (r *route) forAllHubs() *route           { r.global = true; return r }
func (r *route) forAdmins() *route            { r.roles = []Role{Admin}; return r }
func (r *route) repeats(as repeat) *route     { r.repeat = as; return r }
func (r *route) takesLong() *route            { r.long = true; return r }
func (r *route) endsByItself() *route         { r.bounded = true; return r }
func (r *route) readsLittle() *route          { r.quick = true; return r }
func (r *route) readsMuch() *route            { r.searches = true; return r }
func (r *route) changesNothing() *route       { r.pure = true; return r }
func (r *route) demands(members ...string) *route {
	r.required = members
	return r
}

// streams gives a route the stream that it answers with if asked.
func (r *route) streams(run func(*API, *call, *visit) error) *route { r.stream = run; return r }

func (r *route) mayBeEmpty() *route { r.mayLack = true; return r }

// call is one request on its way through a handler.
type call struct {
	w        http.ResponseWriter
	r        *http.Request
	route    *route
	key      *recoup.Key // nil: no key was needed
	caller   engine.Caller
	body     []byte
	document any          // the body, once it was read for its values
	once     *idempotency // nil: not asked for, or not yet read
	now      time.Time
	connection
}

// handle makes the handler of a route.
func (a *API) handle(rt *route) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		c := &call{w: w, r: r, route: rt, now: a.Now(), connection: connection{*http.NewResponseController(w), a.Wall}}
		end := func(error) {}
		if a.Trace != nil {
			var ctx context.Context
			ctx, end = a.Trace(r, rt.method+" "+rt.path)
			c.r = r.WithContext(ctx)
		}
		err := a.run(c)
		end(err)
		if err != nil {
			a.refusals.note(c, a.client(r), err)
			c.writeWithin(0)
		}
		return err
	})
}

// timeout is how long a request may take. A claim has it on top of its wait.
func (a *API) timeout(rt *route) time.Duration {
	limit := a.admission.limits.Time
	switch {
	case rt.load == waiting:
		return limit + lease.MaxWait
	case rt.long:
		return 3 * limit
	}
	return limit
}

// run takes a request through its route: authorize, receive, admit, serve, answer.
// It has a slot only while it is served: neither a body that comes slowly nor an
// answer that is read slowly keeps others out.
func (a *API) run(c *call) error {
	if err := a.authorize(c); err != nil {
		return err
	}
	v, err := a.admission.admit(c)
	if err != nil {
		return err
	}
	defer v.end()
	if err := c.readBody(v); err != nil {
		return err
	}
	if c.route.stream != nil && wantsEvents(c.r) {
		return c.route.stream(a, c, v)
	}
	answer, err := a.serve(c, v)
	if err != nil {
		return err
	}
	c.answer(answer)
	return nil
}

// serve runs a request that is complete and returns its answer.
func (a *API) serve(c *call, v *visit) ([]byte, error) {
	if err := v.enter(c.route.load); err != nil {
		return nil, err
	}
	var answer []byte
	defer func() { v.leave(len(answer)) }()
	ctx := c.r.Context()
	if c.route.writes() && c.key != nil {
		ctx = turn.With(ctx, a.turns, c.key.ID)
	}
	if !c.route.bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.timeout(c.route))
		defer cancel()
	}
	c.r = c.r.WithContext(ctx)
	if c.body != nil { // which may have taken its time
		c.now = a.Now()
	}
	if c.route.repeat == notIdempotent && c.r.Header.Get("Idempotency-Key") != "" {
		return nil, fault.BadField("Idempotency-Key", "unsupported", "what is sent here twice is done twice, whatever its Idempotency-Key; send it without")
	}
	err := a.inTurn(c, func() (err error) {
		answer, err = a.produce(c)
		return err
	})
	return answer, err
}

// longReads is how many long reads are served at once, of which one key has one.
const longReads = 2

// inTurn serves a request that may read much once its key has a turn. One key has all turns but one,
// so that its lists do not delay those of another, and connections to the database are left for
// everything else. Long reads have turns of their own.
func (a *API) inTurn(c *call, do func() error) error {
	if rt := c.route; c.key == nil || rt.writes() && !rt.searches || rt.bounded || rt.quick {
		return do()
	}
	turns := a.reads
	if c.route.long {
		turns = a.longReads
	}
	return a.inTurnOf(c, turns, do)
}

// inTurnOf serves a request once its key has one of these turns.
func (a *API) inTurnOf(c *call, turns *turn.Turns, do func() error) error {
	var failed error
	err := turn.Each(turn.With(c.r.Context(), turns, c.key.ID), 1, func(int) error {
		failed = do()
		return nil
	})
	if err != nil {
		return c.failure(err) // its time was up before its turn
	}
	return failed
}

// bulk does an act on many errors or dead letters. A preview reads up to 10,000 rows and
// changes nothing, so it takes a turn of the long reads.
func (a *API) bulk(c *call, preview bool, do func() (recoup.BulkResult, error)) (result recoup.BulkResult, err error) {
	if !preview || c.key == nil {
		return bulkAnswer(do())
	}
	err = a.inTurnOf(c, a.longReads, func() error {
		result, err = bulkAnswer(do())
		return err
	})
	return result, err
}

// produce does what a request asks for and returns the answer.
func (a *API) produce(c *call) ([]byte, error) {
	out, err := c.route.serve(a, c)
	if err != nil {
		return nil, c.failure(err)
	}
	answer, err := encode(out)
	if err == nil && c.route.writes() {
		answer = withRequestID(answer, c.w.Header().Get(fault.RequestIDHeader))
	}
	return answer, err
}

// Values of headers, which nobody changes.
var nosniff, noStore, jsonMedia = []string{"nosniff"}, []string{"no-store"}, []string{fault.MediaJSON}

func (c *call) answer(body []byte) {
	h := c.w.Header() // names as they are written, and values that all answers share
	h["X-Content-Type-Options"], h["Cache-Control"], h["Content-Type"] = nosniff, noStore, jsonMedia
	if c.route.media != "" {
		h["Content-Type"] = []string{c.route.media}
	}
	c.writeWithin(len(body))
	c.w.WriteHeader(c.route.status)
	if c.route.media == "" {
		body = append(body, '\n')
	}
	_, _ = c.w.Write(body) // it fails when the caller has gone
}

// writes reports whether the route does something, so that its answer names the
// request.
func (r *route) writes() bool { return r.method != http.MethodGet }

// open reports whether a route needs no key.
func (r *route) open() bool { return len(r.roles) == 0 }

// permits reports whether a role may call the route. An admin may call all.
func (r *route) permits(role Role) bool { return role == Admin || slices.Contains(r.roles, role) }
