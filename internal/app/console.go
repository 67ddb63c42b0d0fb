package app

import (
	"net/http"

	"recoup/internal/api"
	"recoup/internal/console"
)

// console makes the pages for people.
func (n *Node) console(open bool) func(http.Handler) (http.Handler, error) {
	return func(a http.Handler) (http.Handler, error) {
		return console.New(console.Options{
			API: a, As: api.WithKey, Sessions: n.store, Open: open, Secure: func(r *http.Request) bool { return n.api.Secure(r) },
			Now: n.o.Now, Random: n.o.Random, Version: n.o.Build.Version, Logger: n.o.Logger,
		})
	}
}
