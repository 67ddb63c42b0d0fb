package console

import (
	"bytes"
	"io"
	"net/http"
)

// inProcess makes requests of the API without a connection.
type inProcess struct {
	api    http.Handler
	remote string   // the address that the browser's request came from
	way    []string // what its proxies say of it, if they are trusted
}

// server is the name that the API is called by. A demo answers to no other.
const server = "http://localhost"

// RoundTrip calls the API. Its answers are small enough to be kept whole: what streams is
// not asked for in this way.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RemoteAddr, in.RequestURI = p.remote, r.URL.RequestURI()
	if len(p.way) > 0 {
		in.Header["X-Forwarded-For"] = p.way
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &answer{header: http.Header{}}
	p.api.ServeHTTP(w, in)
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
		Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}
