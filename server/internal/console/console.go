// Package console is the pages that operators live in, served by a node at /console/.
//
// Pages are made on the server and know nothing that the API does not tell: each request
// asks it in process, through package client, with the key that its session was signed in
// with, so that permissions, limits and the audit are the API's. What is shown is in the
// address of the page, and nowhere else.
package console

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Options are what a console is made of; all but Logger are required, unless it is Open.
type Options struct {
	API      http.Handler                                    // asked in process
	As       func(context.Context, [32]byte) context.Context // makes calls those of a key, known by its hash
	Sessions store.SessionKeeper                             // who is signed in
	Open     bool                                            // nobody signs in: everybody may do everything, as in a demo
	Standby  bool                                            // the node answers reads only, and every page says so
	Secure   func(*http.Request) bool                        // whether the browser came by TLS
	Limit    Limit                                           // of requests by who is not signed in
	Sections []Section                                       // beside the console's own
	Now      func() time.Time
	Random   io.Reader
	Version  string
	Logger   *slog.Logger
}

// Limit bounds requests by who is not signed in. Its refusals are of package fault.
type Limit interface {
	// Admit admits a request, of which lookup says whether a session has to be looked up that
	// may not exist. leave is to be called once the answer is made.
	Admit(r *http.Request, lookup bool) (leave func(), err error)

	// SignIn admits a sign-in from the address of a request, and SignInWith one with a key
	// that is valid, given by its hash.
	SignIn(r *http.Request) error
	SignInWith(hash [32]byte) error
}

// Console answers requests for pages.
type Console struct {
	Options
	ring       *sessionRing
	signInForm func() []byte // with signInTo where it leads to
	sections   []Section     // the first is the console's own
	pages      *pages
	entries    []Entry // of the navigation
	handler    http.Handler
	turns      *turn.Turns // for what takes a processor for long
	openToken  string      // stands for everybody's session where nobody signs in
}

// New checks the options and puts the handler together.
func New(o Options) (*Console, error) {
	if o.API == nil || o.As == nil || o.Sessions == nil || o.Secure == nil || o.Limit == nil || o.Now == nil || o.Random == nil {
		return nil, errors.New("console: API, keys, sessions, transport, limits, clock and randomness are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Console{Options: o, ring: newSessionRing(), sections: append([]Section{core()}, o.Sections...), turns: turn.New(max(1, runtime.GOMAXPROCS(0)-1), o.Now)}
	var err error
	if c.openToken, err = c.newToken(); err != nil {
		return nil, err
	}
	if c.pages, err = readPages(o.Sections); err != nil {
		return nil, err
	}
	if c.entries, err = navigation(c.sections); err != nil {
		return nil, err
	}
	c.signInForm = sync.OnceValue(func() []byte {
		return c.pages.render("sign-in", "alone", frame{Page: "sign-in", Root: "./", Main: signInPage{To: signInTo}})
	})
	mux := http.NewServeMux()
	for _, s := range c.sections {
		for _, p := range s.Pages {
			mux.Handle(p.Method+" "+Path+p.Path, c.handle(p))
		}
	}
	mux.HandleFunc("GET "+Path+"static/{file}", c.serveAsset)
	mux.HandleFunc("GET "+Path+"sign-in", c.showSignIn)
	mux.HandleFunc("POST "+Path+"sign-in", c.signIn)
	mux.HandleFunc("GET "+Path+"stream", c.stream)
	mux.Handle(Path, c.handle(Page{Method: http.MethodGet, Name: "missing", View: missing}))
	sameOrigin := http.NewCrossOriginProtection()
	sameOrigin.SetDenyHandler(http.HandlerFunc(c.refuseForeign))
	c.handler = guarded(sameOrigin.Handler(mux))
	return c, nil
}

// Path is where the console is.
const Path = "/console/"

// ServeHTTP answers a request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// policy lets a page load what the console serves, and talk to it. Nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'self'; frame-ancestors 'none'"

// guarded says to browsers what pages may do, and that nobody keeps them.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// refuseForeign answers a form that another site sends.
func (c *Console) refuseForeign(w http.ResponseWriter, r *http.Request) {
	leave, err := c.Limit.Admit(r, false)
	if err != nil {
		refuse(w, err)
		return
	}
	leave()
	http.Error(w, "Cross-site request refused. Open the page in the console and send the form from there.", http.StatusForbidden)
}
