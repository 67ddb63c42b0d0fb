package faultproxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
)

// echo answers every line with itself.
func echo(t *testing.T) *faultproxy.Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	return faultproxy.New(t, "tcp", listener.Addr().String())
}

func dial(t *testing.T, p *faultproxy.Proxy) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func say(t *testing.T, c net.Conn, r *bufio.Reader, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
		t.Fatal(err)
	}
	if got, err := r.ReadString('\n'); err != nil || got != line+"\n" {
		t.Fatalf("said %q, heard %q, %v", line, got, err)
	}
}

func TestStalledBytesArriveAfterHeal(t *testing.T) {
	for _, way := range []faultproxy.Way{faultproxy.Requests, faultproxy.Answers, faultproxy.Both} {
		p := echo(t)
		c, r := dial(t, p)
		say(t, c, r, "before")
		p.Stall(way)
		if _, err := fmt.Fprintln(c, "held"); err != nil {
			t.Fatal(err)
		}
		if err := p.AwaitHeld(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Heal()
		if got, err := r.ReadString('\n'); err != nil || got != "held\n" {
			t.Fatalf("way %d: heard %q, %v", way, got, err)
		}
		say(t, c, r, "after")
	}
}

func TestCutEndsConnectionsUntilHeal(t *testing.T) {
	p := echo(t)
	c, r := dial(t, p)
	say(t, c, r, "before")
	p.Cut()
	if _, err := r.ReadString('\n'); err == nil {
		t.Fatal("the connection outlived the cut")
	}
	if late, err := net.Dial("tcp", p.Addr()); err == nil { // it may be reset as early as this
		_, _ = fmt.Fprintln(late, "anyone?")
		if n, err := late.Read(make([]byte, 1)); err == nil {
			t.Fatalf("a new connection passed the cut, %d bytes", n)
		}
	}
	p.Heal()
	c, r = dial(t, p)
	say(t, c, r, "after")
}

func TestDropLosesWhatIsHeld(t *testing.T) {
	p := echo(t)
	c, r := dial(t, p)
	p.Stall(faultproxy.Requests)
	if _, err := fmt.Fprintln(c, "lost"); err != nil {
		t.Fatal(err)
	}
	if err := p.AwaitHeld(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Drop()
	p.Heal()
	if got, err := r.ReadString('\n'); err == nil {
		t.Fatalf("heard %q after a drop", got)
	}
	c, r = dial(t, p)
	say(t, c, r, "a new connection")
}
