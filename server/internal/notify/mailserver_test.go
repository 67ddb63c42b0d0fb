package notify_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// mailServer is a small SMTP server on loopback. It speaks what RFC 5321 asks for,
// and STARTTLS and AUTH PLAIN. Replies can be replaced by verb, such as "RCPT".
type mailServer struct {
	t        *testing.T
	listener net.Listener
	roots    *x509.CertPool
	tls      *tls.Config
	offerTLS bool
	implicit bool
	users    map[string]string

	mu      sync.Mutex
	replies map[string][]string // the next replies to a verb; "hang" never comes
	mails   []mail
	serving sync.WaitGroup
}

// mail is one that was accepted.
type mail struct {
	from      string
	to        []string
	text      string
	encrypted bool
	user      string
}

func newMailServer(t *testing.T, implicit bool) *mailServer {
	t.Helper()
	s := &mailServer{t: t, offerTLS: true, implicit: implicit, users: map[string]string{}, replies: map[string][]string{}}
	s.certify()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s.listener = listener; implicit {
		s.listener = tls.NewListener(listener, s.tls)
	}
	s.serving.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = s.listener.Close()
		s.serving.Wait()
	})
	return s
}

// certify makes a certificate for this machine, which only those trust who are
// given the roots.
func (s *mailServer) certify() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		s.t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	s.roots = x509.NewCertPool()
	s.roots.AddCert(parsed)
	s.tls = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func (s *mailServer) address() string { return s.listener.Addr().String() }

// reply replaces the next replies to a verb.
func (s *mailServer) reply(verb string, replies ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[verb] = append(s.replies[verb], replies...)
}

func (s *mailServer) planned(verb string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.replies[verb]
	if len(list) == 0 {
		return ""
	}
	s.replies[verb] = list[1:]
	return list[0]
}

func (s *mailServer) received() []mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]mail(nil), s.mails...)
}

// session is one connection.
type session struct {
	*mailServer
	conn net.Conn
	r    *bufio.Reader
	mail mail
}

func (s *mailServer) serve(conn net.Conn) {
	c := &session{mailServer: s, conn: conn, r: bufio.NewReader(conn), mail: mail{encrypted: s.implicit}}
	defer func() { _ = c.conn.Close() }()
	c.say("CONNECT", "220 mail ready")
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		if !c.answer(strings.ToUpper(verb), rest) {
			return
		}
	}
}

// say replies, unless another reply is planned, and reports whether all is well.
func (c *session) say(verb, reply string) bool {
	if planned := c.planned(verb); planned != "" {
		reply = planned
	}
	if reply == "hang" {
		_, _ = c.r.ReadString('\n') // until the other side has gone
		return false
	}
	_, _ = fmt.Fprintf(c.conn, "%s\r\n", reply)
	return reply[0] < '4'
}

func (c *session) answer(verb, rest string) (goOn bool) {
	switch verb {
	case "EHLO":
		lines := []string{"250-mail"}
		if c.offerTLS && !c.mail.encrypted {
			lines = append(lines, "250-STARTTLS")
		}
		c.say(verb, strings.Join(append(lines, "250-8BITMIME", "250 AUTH PLAIN"), "\r\n"))
	case "STARTTLS":
		if c.say(verb, "220 go on") {
			c.conn = tls.Server(c.conn, c.tls)
			c.r, c.mail.encrypted = bufio.NewReader(c.conn), true
		}
	case "AUTH":
		c.login(rest)
	case "MAIL":
		if c.say(verb, "250 ok") {
			c.mail.from = address(rest)
		}
	case "RCPT":
		if c.say(verb, "250 ok") {
			c.mail.to = append(c.mail.to, address(rest))
		}
	case "DATA":
		return !c.say(verb, "354 go on") || c.data()
	case "QUIT":
		c.say(verb, "221 bye")
		return false
	default:
		c.say(verb, "500 unknown")
	}
	return true
}

func (c *session) login(rest string) {
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
	parts := strings.Split(string(decoded), "\x00")
	if err != nil || len(parts) != 3 || c.users[parts[1]] != parts[2] || parts[2] == "" {
		c.say("AUTH", "535 wrong password: "+string(decoded))
		return
	}
	if c.say("AUTH", "235 welcome") {
		c.mail.user = parts[1]
	}
}

// data reads the text up to its last line. Every line must end as the standard
// wants it.
func (c *session) data() bool {
	var text strings.Builder
	for {
		line, err := c.r.ReadString('\n')
		switch {
		case err != nil:
			return false
		case !strings.HasSuffix(line, "\r\n"), len(line) > 1000:
			c.t.Errorf("a line that a mail must not have: %q", line)
		}
		if line == ".\r\n" {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
	if c.say("END", "250 accepted") {
		c.mail.text = text.String()
		c.mu.Lock()
		c.mails = append(c.mails, c.mail)
		c.mu.Unlock()
		c.mail.to = nil
	}
	return true
}

// address returns what stands between angle brackets.
func address(rest string) string {
	_, a, _ := strings.Cut(rest, "<")
	a, _, _ = strings.Cut(a, ">")
	return a
}
