package httpapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// Role is the role of a key. Each route lists the roles that may call it.
type Role string

// The roles of keys.
const (
	RoleIngest   Role = "ingest"
	RoleWorker   Role = "worker"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
	RoleReader   Role = "reader"
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleIngest, RoleWorker, RoleOperator, RoleAdmin, RoleReader} }

// Load says how calls are treated under overload.
type Load int

// The loads.
const (
	LoadSheddable Load = iota // ingest and workers: refused first, because clients retry
	LoadPriority              // the promotion gate and operators: refused last
	LoadWaiting               // long polls: limited separately
	LoadStreaming             // streams of events: limited separately, without a slot
	LoadAlways                // liveness: never refused
)

// Repeat says what a request does that is sent twice.
type Repeat int

// The kinds of repeats.
const (
	RepeatIdempotent    Repeat = iota // repeating the request changes nothing
	RepeatKeyed                       // idempotent with an Idempotency-Key
	RepeatNotIdempotent               // executed again; an Idempotency-Key is refused
)

// RouteInfo describes a route.
type RouteInfo struct {
	Method, Path string
	Tag, Summary string
	Status       int    // of the answer
	Roles        []Role // none: no key is needed
	AllHubs      bool   // a key that is for some hubs only is refused
	Repeat       Repeat
	In, Out      reflect.Type
}

// Route is one operation: its address, who may call it, its input and its output. The handler,
// the documentation and the tests of permissions are made from it. [Op] makes a route, and the
// methods of Route set its options.
type Route struct {
	Info RouteInfo

	load     Load
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

	serve func(c *Call) (any, error)

	// stream answers instead who asks for a stream of events; nil: there is none.
	stream func(c *Call) error

	// check says all that is wrong with a request, in terms of the domain, without doing
	// anything. It runs only for requests that are refused anyway, so that the failure which the
	// operation would find next comes in the same answer; nil: it would find nothing.
	check func(c *Call, in any) error

	// forms documents a body that comes in several media types; nil: it is JSON.
	forms func(huma.Registry, *huma.Schema) map[string]*huma.MediaType
}

// Limits of a request's body.
const (
	SmallBody = 64 << 10
	BatchBody = 8 << 20
)

// Op returns a route whose handler is run. In is a struct with the parameters of the request, and
// with a field Body if it has a body. Out is returned as JSON. The first argument of run is the
// service that the route is mounted with.
func Op[S, In, Out any](method, path, summary string, run func(S, *Call, *In) (Out, error)) *Route {
	bind := newBinder(reflect.TypeFor[In]())
	return &Route{
		Info:    RouteInfo{Method: method, Path: path, Summary: summary, Status: http.StatusOK, In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()},
		maxBody: SmallBody, service: reflect.TypeFor[S](),
		serve: func(c *Call) (any, error) {
			in := new(In)
			if err := bind.read(c, reflect.ValueOf(in).Elem()); err != nil {
				return nil, err
			}
			out, err := run(serviceOf[S](c), c, in)
			return out, c.WithValues(c.completed(in, err))
		},
	}
}

// OpForms returns a route that reads its body itself, because the body may have several media
// types. Only Params are bound; In documents the whole request, and forms its bodies.
func OpForms[S, Params, In, Out any](method, path, summary string, run func(S, *Call, *Params) (Out, error), forms func(huma.Registry, *huma.Schema) map[string]*huma.MediaType) *Route {
	bind := newBinder(reflect.TypeFor[Params]())
	return &Route{
		Info:    RouteInfo{Method: method, Path: path, Summary: summary, Status: http.StatusOK, In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()},
		maxBody: SmallBody, forms: forms, service: reflect.TypeFor[S](),
		serve: func(c *Call) (any, error) {
			params := new(Params)
			if err := bind.read(c, reflect.ValueOf(params).Elem()); err != nil {
				return nil, err
			}
			return run(serviceOf[S](c), c, params)
		},
	}
}

// OpText returns a route that answers with text of another media type than JSON. It reads no
// parameters.
func OpText[S any](method, path, media string, run func(S, *Call) ([]byte, error)) *Route {
	return &Route{
		Info:  RouteInfo{Method: method, Path: path, Status: http.StatusOK},
		media: media, service: reflect.TypeFor[S](),
		serve: func(c *Call) (any, error) {
			text, err := run(serviceOf[S](c), c)
			return raw(text), err
		},
	}
}

// mustTake panics unless the handler takes a service and a request of these types. It is a
// mistake of the program.
func (r *Route) mustTake(service, in reflect.Type) {
	if r.service != service || r.Info.In != in {
		panic(fmt.Sprintf("httpapi: %s takes %v and %v, not %v and %v", r.name(), r.service, r.Info.In, service, in))
	}
}

// serviceOf returns the service that the route of a call is mounted with; Mount has checked
// its type.
func serviceOf[S any](c *Call) S { return c.service.(S) } //nolint:errcheck // checked by Mount

// WithCheck sets a function that finds everything wrong with a request, in terms of the domain and
// without doing anything. It runs only for requests that are refused anyway, so that one answer
// lists all mistakes. The handler must make the same checks.
func WithCheck[S, In any](r *Route, check func(S, *Call, *In) error) *Route {
	r.mustTake(reflect.TypeFor[S](), reflect.TypeFor[In]())
	r.check = func(c *Call, in any) error { return check(serviceOf[S](c), c, in.(*In)) } //nolint:errcheck // the binder has made it
	return r
}

// WithStream sets a function that answers requests for text/event-stream.
func WithStream[S any](r *Route, run func(S, *Call) error) *Route {
	r.mustTake(reflect.TypeFor[S](), r.Info.In)
	r.stream = func(c *Call) error { return run(serviceOf[S](c), c) }
	return r
}

// WithAnswer sets a function that may replace the answer of a route, or its error.
func WithAnswer[S any](r *Route, amend func(S, *Call, any, error) (any, error)) *Route {
	r.mustTake(reflect.TypeFor[S](), r.Info.In)
	whole := r.serve
	r.serve = func(c *Call) (any, error) {
		out, err := whole(c)
		return amend(serviceOf[S](c), c, out, err)
	}
	return r
}

// Roles lets these roles call the route, beside admins. A route without roles needs no key.
func (r *Route) Roles(roles ...Role) *Route { r.Info.Roles = roles; return r }

// AdminsOnly lets admins alone call the route.
func (r *Route) AdminsOnly() *Route { return r.Roles(RoleAdmin) }

// AllHubs refuses keys that are for some hubs only.
func (r *Route) AllHubs() *Route { r.Info.AllHubs = true; return r }

// Tag sets the area of the reference that the route belongs to.
func (r *Route) Tag(area string) *Route { r.Info.Tag = area; return r }

// Status sets the status of a successful answer; the default is 200.
func (r *Route) Status(status int) *Route { r.Info.Status = status; return r }

// Load sets how calls are treated under overload; the default is [LoadSheddable].
func (r *Route) Load(l Load) *Route { r.load = l; return r }

// Repeat sets the result of a repeated request; the default is [RepeatIdempotent].
func (r *Route) Repeat(as Repeat) *Route { r.Info.Repeat = as; return r }

// MaxBody sets the longest body in bytes; the default is [SmallBody].
func (r *Route) MaxBody(bytes int64) *Route { r.maxBody = bytes; return r }

// OptionalBody allows requests without a body.
func (r *Route) OptionalBody() *Route { r.mayLack = true; return r }

// Require documents members that this route requires of a body that it shares with other routes.
func (r *Route) Require(members ...string) *Route { r.required = members; return r }

// Long triples the time limit of calls. It is for routes that may touch thousands of rows.
func (r *Route) Long() *Route { r.long = true; return r }

// NoTimeout sets no time limit. It is for handlers that end in time by themselves.
func (r *Route) NoTimeout() *Route { r.bounded = true; return r }

// ReadsLittle serves calls without a turn of the reads.
func (r *Route) ReadsLittle() *Route { r.quick = true; return r }

// ReadsMuch serves calls in a turn of the reads although the method is not GET.
func (r *Route) ReadsMuch() *Route { r.searches = true; return r }

// ReadOnly serves calls on a standby although the method is not GET.
func (r *Route) ReadOnly() *Route { r.pure = true; return r }

// StaleKeys accepts keys as they were last known while the store cannot be reached. It is for
// routes that work without the store.
func (r *Route) StaleKeys() *Route { r.carried = true; return r }

// Doc sets the documentation of the route.
func (r *Route) Doc(d Doc) *Route { r.doc = d; return r }

// writes reports whether the route does something, so that its answer names the
// request.
func (r *Route) writes() bool { return r.Info.Method != http.MethodGet }

// open reports whether a route needs no key.
func (r *Route) open() bool { return len(r.Info.Roles) == 0 }

// permits reports whether a role may call the route. An admin may call all.
func (r *Route) permits(role Role) bool {
	return role == RoleAdmin || slices.Contains(r.Info.Roles, role)
}
