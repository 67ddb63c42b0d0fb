package app

import (
	"net/http"

	"github.com/recoup-dev/recoup/server/internal/console"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// consoleLimit is what admission control says to the pages of who is not signed in.
type consoleLimit struct{ n *Node }

func (l consoleLimit) Admit(r *http.Request, lookup bool) (func(), error) {
	return l.n.api.AdmitVisitor(r, lookup)
}
func (l consoleLimit) SignIn(r *http.Request) error   { return l.n.api.SignIn(r) }
func (l consoleLimit) SignInWith(hash [32]byte) error { return l.n.api.SignInWith(hash) }

// console makes the pages for people.
func (n *Node) console(open bool) func(http.Handler) (http.Handler, error) {
	return func(a http.Handler) (http.Handler, error) {
		return console.New(console.Options{
			API: a, As: httpapi.WithKey, Sessions: n.store, Open: open, Standby: n.o.Standby, Limit: consoleLimit{n}, Secure: func(r *http.Request) bool { return n.api.Secure(r) },
			Now: n.o.Now, Random: n.o.Random, Version: n.o.Build.Version, Logger: n.o.Logger, Sections: n.sections(),
		})
	}
}
