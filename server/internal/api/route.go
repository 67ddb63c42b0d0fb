package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/access"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/store"
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

// routeInfo is what a route says of itself.
type routeInfo struct {
	Method, Path string
	Tag, Summary string
	Status       int    // of the answer
	Roles        []Role // none: no key is needed
	AllHubs      bool   // a key that is for some hubs only is refused
	Repeat       repeat
	In, Out      reflect.Type
}

// route is one operation: how it is reached, who may call it, what it takes and
// returns. The handler, the documentation and the tests of permissions are all
// made from it.
type route struct {
	Info routeInfo

	load     load
	long     bool // it may touch thousands of errors
	bounded  bool // it ends by itself in time
	quick    bool // it reads little, and needs no turn for it
	searches bool // it reads much though it is no GET
	pure     bool // it changes nothing though it is no GET
	mayLack  bool // the body may be left out
	maxBody  int64
	carried  bool     // it does without the database
	media    string   // of the answer; empty: JSON
	required []string // members that this operation demands of a body that others share

	doc     Doc
	service reflect.Type // of the first argument of the handler

	serve func(c *call) (any, error)

	// stream answers instead who asks for a stream of events; nil: there is none.
	stream func(c *call) error

	// check says all that is wrong with a request, in terms of the domain, without doing
	// anything. It runs only for requests that are refused anyway, so that the failure which the
	// operation would find next comes in the same answer; nil: it would find nothing.
	check func(c *call, in any) error

	// forms documents a body that comes in several media types; nil: it is JSON.
	forms func(huma.Registry, *huma.Schema) map[string]*huma.MediaType
}

// Limits of a request's body.
const (
	smallBody = 64 << 10
	batchBody = 8 << 20
)

// operation makes a route from a function: In is a struct of parameters, with a
// Body or without, Out is returned as JSON. The first argument of the function is
// the service that the route is mounted with.
func operation[S, In, Out any](method, path, summary string, run func(S, *call, *In) (Out, error)) *route {
	bind := newBinder(reflect.TypeFor[In]())
	return &route{
		Info:    routeInfo{Method: method, Path: path, Summary: summary, Status: http.StatusOK, In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()},
		maxBody: smallBody, service: reflect.TypeFor[S](),
		serve: func(c *call) (any, error) {
			in := new(In)
			if err := bind.read(c, reflect.ValueOf(in).Elem()); err != nil {
				return nil, err
			}
			out, err := run(serviceOf[S](c), c, in)
			return out, c.illustrated(c.completed(in, err))
		},
	}
}

// operationWithForms is [operation] of a function that reads the body itself, because the
// body comes in several media types. Only Params are bound; In documents the whole request.
func operationWithForms[S, Params, In, Out any](method, path, summary string, run func(S, *call, *Params) (Out, error), forms func(huma.Registry, *huma.Schema) map[string]*huma.MediaType) *route {
	bind := newBinder(reflect.TypeFor[Params]())
	return &route{
		Info:    routeInfo{Method: method, Path: path, Summary: summary, Status: http.StatusOK, In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()},
		maxBody: smallBody, forms: forms, service: reflect.TypeFor[S](),
		serve: func(c *call) (any, error) {
			params := new(Params)
			if err := bind.read(c, reflect.ValueOf(params).Elem()); err != nil {
				return nil, err
			}
			return run(serviceOf[S](c), c, params)
		},
	}
}

// operationText makes a route that answers with text of another media type. It reads no
// parameters.
func operationText[S any](method, path, media string, run func(S, *call) ([]byte, error)) *route {
	return &route{
		Info:  routeInfo{Method: method, Path: path, Status: http.StatusOK},
		media: media, service: reflect.TypeFor[S](),
		serve: func(c *call) (any, error) {
			text, err := run(serviceOf[S](c), c)
			return raw(text), err
		},
	}
}

// serviceOf returns the service that the route of a call is mounted with; Mount has checked
// its type.
func serviceOf[S any](c *call) S { return c.service.(S) } //nolint:errcheck // checked by Mount

// checked gives a route its check.
func checked[S, In any](r *route, check func(S, *call, *In) error) *route {
	r.check = func(c *call, in any) error { return check(serviceOf[S](c), c, in.(*In)) } //nolint:errcheck // the binder has made it
	return r
}

// streams gives a route the stream that it answers with if asked.
func streams[S any](r *route, run func(S, *call) error) *route {
	r.stream = func(c *call) error { return run(serviceOf[S](c), c) }
	return r
}

// amended has a function look at the answer of a route, and replace it.
func amended[S any](r *route, amend func(S, *call, any, error) (any, error)) *route {
	whole := r.serve
	r.serve = func(c *call) (any, error) {
		out, err := whole(c)
		return amend(serviceOf[S](c), c, out, err)
	}
	return r
}

// completed adds to a VALIDATION_ERROR what else the route's check finds: an operation
// may have stopped at the first thing that is wrong.
func (c *call) completed(in any, err error) error {
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

func (r *route) by(roles ...Role) *route      { r.Info.Roles = roles; return r }
func (r *route) tagged(tag string) *route     { r.Info.Tag = tag; return r }
func (r *route) answers(status int) *route    { r.Info.Status = status; return r }
func (r *route) under(l load) *route          { r.load = l; return r }
func (r *route) takesUpTo(bytes int64) *route { r.maxBody = bytes; return r }
func (r *route) forAllHubs() *route           { r.Info.AllHubs = true; return r }
func (r *route) forAdmins() *route            { r.Info.Roles = []Role{Admin}; return r }
func (r *route) repeats(as repeat) *route     { r.Info.Repeat = as; return r }
func (r *route) takesLong() *route            { r.long = true; return r }
func (r *route) endsByItself() *route         { r.bounded = true; return r }
func (r *route) readsLittle() *route          { r.quick = true; return r }
func (r *route) readsMuch() *route            { r.searches = true; return r }
func (r *route) changesNothing() *route       { r.pure = true; return r }
func (r *route) demands(members ...string) *route {
	r.required = members
	return r
}

func (r *route) mayBeEmpty() *route { r.mayLack = true; return r }

// worksWithoutStore has a route take keys as they were last known while the store cannot be asked.
func (r *route) worksWithoutStore() *route { r.carried = true; return r }

// documented gives a route its documentation.
func (r *route) documented(d Doc) *route { r.doc = d; return r }

// call is one request on its way through a handler.
type call struct {
	w        http.ResponseWriter
	r        *http.Request
	server   *server
	service  any // that the route is mounted with
	route    *route
	visit    *visit
	key      *recoup.Key // nil: no key was needed
	caller   access.Caller
	body     []byte
	document any          // the body, once it was read for its values
	once     *idempotency // nil: not asked for, or not yet read
	now      time.Time
	connection
}

// Context returns the context of the request.
func (c *call) Context() context.Context { return c.r.Context() }

// ResponseHeader returns the header of the answer.
func (c *call) ResponseHeader() http.Header { return c.w.Header() }

// act is the administrative act of the caller.
func (c *call) act(reason string) store.Act { return c.caller.Act(reason, c.now) }

// handle makes the handler of a route and its service.
func (s *server) handle(rt *route, service any) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		c := &call{w: w, r: r, server: s, service: service, route: rt, now: s.Now(), connection: connection{*http.NewResponseController(w), s.Wall}}
		end := func(error) {}
		if s.Trace != nil {
			var ctx context.Context
			ctx, end = s.Trace(r, rt.Info.Method+" "+rt.Info.Path)
			c.r = r.WithContext(ctx)
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
func (s *server) timeout(rt *route) time.Duration {
	limit := s.admission.limits.Time
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
func (s *server) run(c *call) error {
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
	if c.route.stream != nil && wantsEvents(c.r) {
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
func (s *server) serve(c *call, v *visit) ([]byte, error) {
	if err := v.enter(c.route.load); err != nil {
		return nil, err
	}
	var answer []byte
	defer func() { v.leave(len(answer)) }()
	ctx := c.r.Context()
	if c.route.writes() && c.key != nil {
		ctx = turn.With(ctx, s.turns, c.key.ID)
	}
	if !c.route.bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout(c.route))
		defer cancel()
	}
	c.r = c.r.WithContext(ctx)
	if c.body != nil { // which may have taken its time
		c.now = s.Now()
	}
	if c.route.Info.Repeat == notIdempotent && c.r.Header.Get("Idempotency-Key") != "" {
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
func (s *server) inTurn(c *call, do func() error) error {
	if rt := c.route; c.key == nil || rt.writes() && !rt.searches || rt.bounded || rt.quick {
		return do()
	}
	turns := s.reads
	if c.route.long {
		turns = s.longReads
	}
	return s.inTurnOf(c, turns, do)
}

// inTurnOf serves a request once its key has one of these turns.
func (s *server) inTurnOf(c *call, turns *turn.Turns, do func() error) error {
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

// inLongTurn does something that may read much once the key of the call has a turn of the long reads.
func (c *call) inLongTurn(do func() error) error {
	if c.key == nil {
		return do()
	}
	return c.server.inTurnOf(c, c.server.longReads, do)
}

// produce does what a request asks for and returns the answer.
func (s *server) produce(c *call) ([]byte, error) {
	out, err := c.route.serve(c)
	if err != nil {
		return nil, c.failure(err)
	}
	answer, err := s.encode(out)
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
	c.w.WriteHeader(c.route.Info.Status)
	if c.route.media == "" {
		body = append(body, '\n')
	}
	_, _ = c.w.Write(body) // it fails when the caller has gone
}

// writes reports whether the route does something, so that its answer names the
// request.
func (r *route) writes() bool { return r.Info.Method != http.MethodGet }

// open reports whether a route needs no key.
func (r *route) open() bool { return len(r.Info.Roles) == 0 }

// permits reports whether a role may call the route. An admin may call all.
func (r *route) permits(role Role) bool { return role == Admin || slices.Contains(r.Info.Roles, role) }
