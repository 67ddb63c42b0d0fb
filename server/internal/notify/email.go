package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"
)

// mailLines is how many lines a mail has.
const mailLines = 100

// email sends by SMTP.
type email struct {
	server   string // host:port
	host     string
	from     mail.Address
	to       []mail.Address
	user     string
	password string
	security Security
	tls      *tls.Config
}

// Security is how a connection to a mail server is protected.
type Security string

// The ways to protect it. Without protection no password is ever sent.
const (
	StartTLS Security = "starttls" // it begins in the clear and must go on encrypted
	Implicit Security = "implicit" // it is encrypted from the beginning
	NoTLS    Security = "none"     // for a relay on the same machine or network
)

// Send hands the mail to the server. It is accepted if the server takes it for at
// least one of the recipients; others that it refuses would not get it by sending
// it again to all.
func (e *email) Send(ctx context.Context, m *Message) error {
	text, err := e.write(m)
	if err != nil {
		return unwritable()
	}
	conn, err := e.dial(ctx)
	if err != nil {
		return Unreachable(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return Unreachable(err)
		}
	}
	if err := e.deliver(conn, text); err != nil {
		if ctx.Err() != nil {
			return Unreachable(ctx.Err())
		}
		return err
	}
	return nil
}

func (e *email) dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if e.security == Implicit {
		return (&tls.Dialer{NetDialer: dialer, Config: e.tls}).DialContext(ctx, "tcp", e.server)
	}
	return dialer.DialContext(ctx, "tcp", e.server)
}

// deliver speaks SMTP.
func (e *email) deliver(conn net.Conn, text []byte) error {
	c, err := smtp.NewClient(conn, e.host)
	if err != nil {
		return mailFailure("greeting", err)
	}
	defer func() { _ = c.Close() }()
	if e.security == StartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return temporary("the mail server offers no encryption")
		}
		if err := c.StartTLS(e.tls); err != nil {
			return mailFailure("encryption", err)
		}
	}
	if e.user != "" {
		if err := c.Auth(smtp.PlainAuth("", e.user, e.password, e.host)); err != nil {
			return mailFailure("authentication", err)
		}
	}
	if err := c.Mail(e.from.Address); err != nil {
		return mailFailure("sender", err)
	}
	if err := e.recipients(c); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return mailFailure("message", err)
	}
	if _, err := w.Write(text); err != nil {
		return mailFailure("message", err)
	}
	if err := w.Close(); err != nil {
		return mailFailure("message", err)
	}
	_ = c.Quit() // the mail is accepted, whatever the server says to this
	return nil
}

// recipients names them all, and fails if none is accepted.
func (e *email) recipients(c *smtp.Client) error {
	accepted := 0
	var failed *Failure
	for _, to := range e.to {
		if err := c.Rcpt(to.Address); err != nil {
			failed = mailFailure("recipient", err)
			continue
		}
		accepted++
	}
	if accepted == 0 {
		return failed
	}
	return nil
}

// mailFailure says at which step and with which code a server refused. What it has
// said beside that may hold addresses. A refused message or recipient is for good;
// that the server does not know us can be put right by those who run the node.
func mailFailure(step string, err error) *Failure {
	var said *textproto.Error
	if !errors.As(err, &said) {
		return Unreachable(err)
	}
	f := temporary("the mail server refused the %s with %d", step, said.Code)
	f.Permanent = said.Code >= 500 && (step == "message" || step == "recipient")
	return f
}

// write returns the mail. Its headers are made of checked addresses and encoded
// words only, so nothing in a message can add one.
func (e *email) write(m *Message) ([]byte, error) {
	subject := "[Recoup] " + m.Title
	if m.Test {
		subject = "[Recoup] Test: " + m.Title
	}
	to := make([]string, len(e.to))
	for i := range e.to {
		to[i] = e.to[i].String()
	}
	var b bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	header("From", e.from.String())
	header("To", strings.Join(to, ",\r\n "))
	header("Subject", mime.QEncoding.Encode("utf-8", clean(subject)))
	header("Date", m.At.UTC().Format(time.RFC1123Z))
	header("Message-ID", "<"+m.ID.String()+"@recoup>")
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	if _, err := body.Write([]byte(plain(m))); err != nil {
		return nil, err
	}
	if err := body.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// plain is a message as a text.
func plain(m *Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\r\n\r\n", m.Title)
	lines, more := m.lines(mailLines)
	for _, l := range lines {
		fmt.Fprintf(&b, "- %s\r\n", l)
		for _, link := range l.links {
			fmt.Fprintf(&b, "  %s\r\n", link)
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "and %d more\r\n", more)
	}
	fmt.Fprintf(&b, "\r\n%s, %s, to %s\r\n%s\r\n", m.Kind, m.Urgency, m.To, m.ID)
	return b.String()
}
