package fault

import (
	"bufio"
	"errors"
	"net"
	"net/http"
)

// response remembers whether the answer has begun, and with which status.
type response struct {
	http.ResponseWriter
	status int // 0: nothing has been sent
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	// An informational status comes before the response; only 101 is the response.
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// FlushError is what http.ResponseController calls. It is here because a flush
// begins the answer.
func (w *response) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		w.begin()
	}
	return err
}

// Flush serves handlers that ask for an http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// Hijack is here because a hijacked connection can be sent no answer.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil && w.status == 0 {
		w.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

func (w *response) begin() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}
