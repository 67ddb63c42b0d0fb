package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// A connection has a few seconds, and as many more as its bytes take at the
// slowest rate that is waited for.
const (
	connectionGrace = 10 * time.Second
	slowest         = 32 << 10 // bytes per second
)

// allowance is how long so many bytes may take.
func allowance(bytes int) time.Duration {
	return connectionGrace + time.Duration(bytes)*time.Second/slowest
}

// connection sets the deadlines of the connection that a request came by. One that
// has none, as in a test, is as patient as it likes.
type connection struct {
	control http.ResponseController
	now     func() time.Time
}

// writeWithin gives the answer the time that its size takes.
func (c *connection) writeWithin(bytes int) {
	_ = c.control.SetWriteDeadline(c.now().Add(allowance(bytes)))
}

// readForever ends the deadline of a body that has arrived: whether the caller is
// still there is watched by reading, for as long as the request is served.
func (c *connection) readForever() { _ = c.control.SetReadDeadline(time.Time{}) }

// firstRoom is how much room is made for a body because a request says that it has
// one of that size, or does not say. More is made as it arrives: what is only
// announced takes no memory.
const firstRoom = 64 << 10

// receive reads a body of the size that it is said to have, or of none that is
// known (-1). It holds what it has read, and its deadline moves with it.
func (c *connection) receive(body io.Reader, size int64, v *visit) ([]byte, error) {
	begun := c.now()
	var buffer []byte
	for {
		if len(buffer) == cap(buffer) {
			room := growth(cap(buffer), size)
			if err := v.hold(room); err != nil {
				return nil, err
			}
			buffer = append(make([]byte, 0, cap(buffer)+room), buffer...)
		}
		_ = c.control.SetReadDeadline(begun.Add(allowance(len(buffer))))
		n, err := body.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// growth is how much room is made beside what a body has filled: three times as much
// again, so that little is copied more than once, or what is left of it.
func growth(filled int, size int64) int {
	room := max(3*filled, firstRoom)
	if left := size + 1 - int64(filled); left > 0 { // and a byte for its end
		room = int(min(int64(room), left))
	}
	return room
}

// AllowWrite gives an answer outside a call the time that its size takes.
func (s *Server) AllowWrite(w http.ResponseWriter, bytes int) {
	c := connection{*http.NewResponseController(w), s.Wall}
	c.writeWithin(bytes)
}
