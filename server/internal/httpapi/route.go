package httpapi

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// Role is what a key may do: the routes say which of them each is for.
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

// Load says how a request is treated when there are too many.
type Load int

const (
	LoadSheddable Load = iota // ingest and workers: turned away early, they come again
	LoadPriority              // the promotion gate and the operators' calls: kept alive
	LoadWaiting               // claims that wait: bounded by themselves
	LoadStreaming             // streams of events: bounded by themselves, they take nobody's slot
	LoadAlways                // liveness: a node that does not answer is killed
)

// Repeat says what comes of a request that is sent twice.
type Repeat int

const (
	RepeatIdempotent    Repeat = iota // the same, by its nature
	RepeatKeyed                       // the same if it has an idempotency key
	RepeatNotIdempotent               // it is done twice; a request that hopes otherwise is refused
)

// RouteInfo is what a route says of itself.
type RouteInfo struct {
	Method, Path string
	Tag, Summary string
	Status       int    // of the answer
	Roles        []Role // none: no key is needed
	AllHubs      bool   // a key that is for some hubs only is refused
	Repeat       Repeat
	In, Out      reflect.Type
}

// Route is one operation: how it is reached, who may call it, what it takes and
// returns. The handler, the documentation and the tests of permissions are all
// made from it.
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

// Op makes a route from a function: In is a struct of parameters, with a
// Body or without, Out is returned as JSON. The first argument of the function is
// the service that the route is mounted with.
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

// OpForms is [Op] of a function that reads the body itself, because the
// body comes in several media types. Only Params are bound; In documents the whole request.
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

// OpText makes a route that answers with text of another media type. It reads no
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

// serviceOf returns the service that the route of a call is mounted with; Mount has checked
// its type.
func serviceOf[S any](c *Call) S { return c.service.(S) } //nolint:errcheck // checked by Mount

// WithCheck gives a route its check.
func WithCheck[S, In any](r *Route, check func(S, *Call, *In) error) *Route {
	r.check = func(c *Call, in any) error { return check(serviceOf[S](c), c, in.(*In)) } //nolint:errcheck // the binder has made it
	return r
}

// WithStream gives a route the stream that it answers with if asked.
func WithStream[S any](r *Route, run func(S, *Call) error) *Route {
	r.stream = func(c *Call) error { return run(serviceOf[S](c), c) }
	return r
}

// WithAnswer has a function look at the answer of a route, and replace it.
func WithAnswer[S any](r *Route, amend func(S, *Call, any, error) (any, error)) *Route {
	whole := r.serve
	r.serve = func(c *Call) (any, error) {
		out, err := whole(c)
		return amend(serviceOf[S](c), c, out, err)
	}
	return r
}

func (r *Route) Roles(roles ...Role) *Route { r.Info.Roles = roles; return r }
func (r *Route) Tag(tag string) *Route      { r.Info.Tag = tag; return r }
func (r *Route) Status(status int) *Route   { r.Info.Status = status; return r }
func (r *Route) Load(l Load) *Route         { r.load = l; return r }
func (r *Route) MaxBody(bytes int64) *Route { r.maxBody = bytes; return r }
func (r *Route) AllHubs() *Route            { r.Info.AllHubs = true; return r }
func (r *Route) AdminsOnly() *Route         { r.Info.Roles = []Role{RoleAdmin}; return r }
func (r *Route) Repeat(as Repeat) *Route    { r.Info.Repeat = as; return r }
func (r *Route) Long() *Route               { r.long = true; return r }
func (r *Route) NoTimeout() *Route          { r.bounded = true; return r }
func (r *Route) ReadsLittle() *Route        { r.quick = true; return r }
func (r *Route) ReadsMuch() *Route          { r.searches = true; return r }
func (r *Route) ReadOnly() *Route           { r.pure = true; return r }
func (r *Route) Require(members ...string) *Route {
	r.required = members
	return r
}

func (r *Route) OptionalBody() *Route { r.mayLack = true; return r }

// StaleKeys has a route take keys as they were last known while the store cannot be asked.
func (r *Route) StaleKeys() *Route { r.carried = true; return r }

// Doc gives a route its documentation.
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
