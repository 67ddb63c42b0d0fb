package api

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/fault"
)

// unmatched answers what no route of the mux matches, in the contract, where the mux
// would answer in plain text.
func (s *server) unmatched(mux *http.ServeMux) http.Handler {
	answer := s.paid(func(w http.ResponseWriter, r *http.Request) error {
		allow := strings.Join(slices.DeleteFunc(methods(), func(method string) bool {
			probe := *r
			probe.Method = method
			_, pattern := mux.Handler(&probe)
			return pattern == anywhere
		}), ", ")
		if allow == "" {
			return fault.New(fault.CodeNotFound, "There is nothing at this address; /docs lists what there is.")
		}
		w.Header().Set("Allow", allow)
		named := "that method"
		if slices.Contains(methods(), r.Method) {
			named = r.Method
		}
		return fault.New(fault.CodeMethodNotAllowed, "This address does not take %s.", named).With("allow", allow)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Pattern = "" // it is counted as none
		answer.ServeHTTP(w, r)
	})
}

// redirected charges requests that the mux answers with a redirect, without a handler: those
// for a path that is not in its shortest form, and for a folder without its slash.
func (s *server) redirected(mux *http.ServeMux) http.Handler {
	charged := s.paid(func(w http.ResponseWriter, r *http.Request) error {
		mux.ServeHTTP(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean(r.URL.Path)
		if clean == r.URL.Path && !s.folders[clean] || clean != "/" && clean+"/" == r.URL.Path {
			mux.ServeHTTP(w, r)
			return
		}
		charged.ServeHTTP(w, r)
	})
}

// paid makes the handler of an answer that no key is needed for. A request with a valid key
// takes from the rate of that key, and any other from the rates of requests without a key.
func (s *server) paid(answer fault.HandlerFunc) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if key := s.holder(r); key != nil {
			if err := s.admission.keyRate(key, s.Now()); err != nil {
				return err
			}
			return answer(w, r)
		}
		leave, err := s.Anonymous(r, costPage)
		if err != nil {
			return err
		}
		leave() // before it is written, so that a caller that reads slowly holds no slot
		return answer(w, r)
	})
}
