package push_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// silence listens, answers every request with a change of protocol, and says no more.
func (w *world) silence() (url string) {
	w.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: silence\r\nConnection: Upgrade\r\n\r\n")
				}
				_, _ = io.Copy(io.Discard, conn) // until the other side has gone
			}()
		}
	}()
	return "http://" + listener.Addr().String() + path
}

// A receiver that leaves HTTP and is silent holds neither its work nor a node that stops.
func TestSilenceAfterSwitchingProtocols(t *testing.T) {
	everywhere(t, func(w *world) {
		p := w.pusher(push.Work, map[string]string{"url": w.silence(), "secret": secret, "lanes": lane, "timeout": "10m", "public-only": "false"})
		id := w.submit(1)[0]
		if is := p.run(); is.InFlight != 0 || is.State != wire.ReceiverBackingOff || is.LastError != "answered with status 101" {
			w.Errorf("it is %+v", is)
		}
		w.must(p.Drain(w.Context()))
		w.checkQueue("silence", queued, id)
	})
}

// A reason is cut between characters.
func TestCut(t *testing.T) {
	t.Parallel()
	for most := range 13 {
		if got := push.Cut("äöü€", most); !utf8.ValidString(got) || len(got) > most || !strings.HasPrefix("äöü€", got) || most >= 9 && got != "äöü€" {
			t.Errorf("at %d it is %q", most, got)
		}
	}
}
