package client

import (
	"cmp"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Middleware returns fault's middleware, wired to the emitter: every failed request
// becomes an event, and every request is counted. Options that are not set default to
// the client's; the hooks in o are called too:
//
//	wrap, err := emitter.Middleware(fault.Options{Logger: logger})
//	http.ListenAndServe(addr, wrap(mux))
func (m *Emitter) Middleware(o fault.Options) (func(http.Handler) http.Handler, error) {
	own := m.c.o
	o.Service, o.Region = cmp.Or(o.Service, own.Service), cmp.Or(o.Region, own.Region)
	if o.Registry == nil {
		o.Registry = own.Registry
	}
	if o.Now == nil {
		o.Now = own.Now
	}
	if o.Random == nil {
		o.Random = own.Random
	}
	emit, count := o.Emit, o.Count
	o.Emit = func(e recoup.Event) {
		m.Emit(e)
		if emit != nil {
			emit(e)
		}
	}
	o.Count = func(r fault.Request) {
		m.Count("", r.Code != "", r.Duration)
		if count != nil {
			count(r)
		}
	}
	return fault.NewMiddleware(o)
}
