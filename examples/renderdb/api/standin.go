package api

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// standIns answer in place of the external services, so that the demonstration
// needs no network, and fail as those do.
type standIns struct{ failures *Failures }

func (s standIns) RoundTrip(r *http.Request) (*http.Response, error) {
	defer func() { _ = r.Body.Close() }()
	question, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	switch name, _, _ := strings.Cut(r.URL.Host, "."); {
	case name == verifiers()[0] && s.failures.On(Verifier):
		return reply(r, http.StatusServiceUnavailable, `{"error": "service_maintenance"}`, "Retry-After", "300"), nil
	case name == "scraper" && s.failures.On(Scraper):
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	case name == "scraper" && bytes.Contains(question, []byte("//empty.")):
		return reply(r, http.StatusNotFound, `{"error": "no_data"}`), nil
	}
	return reply(r, http.StatusOK, `{}`), nil
}

// reply makes a response; header holds names and values in turn.
func reply(r *http.Request, status int, body string, header ...string) *http.Response {
	response := &http.Response{
		StatusCode: status, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(body)),
	}
	for i := 0; i+1 < len(header); i += 2 {
		response.Header.Set(header[i], header[i+1])
	}
	return response
}
