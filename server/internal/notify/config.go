package notify

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Kind is a kind of channel.
type Kind string

// The kinds of channels.
const (
	Slack     Kind = "slack"     // an incoming webhook
	PagerDuty Kind = "pagerduty" // the Events API v2
	Webhook   Kind = "webhook"   // signed JSON to any address
	Email     Kind = "email"     // SMTP
	Log       Kind = "log"       // the node's own log
)

// Config sets a channel up. Which fields count depends on its kind: see [Fields].
type Config struct {
	Name   string
	Kind   Kind
	Values map[string]string // by field
}

// Field is something that a kind of channel has to know, or may.
type Field = config.Field

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Slack, PagerDuty, Webhook, Email, Log} }

// Fields returns what a kind of channel has to know, and may. It is nil for a kind
// that does not exist.
func Fields(k Kind) []Field {
	switch k {
	case Slack:
		return []Field{
			{Name: "url", Required: true, Secret: true, Help: "the address of the incoming webhook"},
			{Name: "public-only", Help: "true: public addresses only, without a proxy (default: false)"},
		}
	case PagerDuty:
		return []Field{
			{Name: "key", Required: true, Secret: true, Help: "the integration key of the service"},
			{Name: "url", Help: "where events go, if not to " + pagerDutyURL},
		}
	case Webhook:
		return []Field{
			{Name: "url", Required: true, Secret: true, Help: "where messages go"},
			{Name: "secret", Required: true, Secret: true, Help: "what signatures are made with, 16 characters or more"},
			{Name: "public-only", Help: "public addresses only, without a proxy; false also allows private networks (default: true)"},
		}
	case Email:
		return []Field{
			{Name: "server", Required: true, Help: "the mail server, HOST:PORT"},
			{Name: "from", Required: true, Help: "the sender's address"},
			{Name: "to", Required: true, Help: "the recipients' addresses, with commas between them"},
			{Name: "user", Help: "who logs in; nobody if it is empty"},
			{Name: "password", Secret: true, Help: "of the user"},
			{Name: "tls", Help: "starttls, implicit or none"},
		}
	case Log:
		return []Field{}
	}
	return nil
}

// Tools are what channels work with.
type Tools struct {
	Now    func() time.Time
	Logger *slog.Logger
	Source string         // the node, as PagerDuty shows it
	Roots  *x509.CertPool // whose certificates are trusted; nil: the machine's
}

var channelName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Check returns what is wrong with the configuration, all of it at once. No secret
// is in the error.
func (c Config) Check() error {
	var bad []error
	complain := func(field, format string, args ...any) {
		bad = append(bad, fmt.Errorf("channel %s: %s %s", c.Name, field, fmt.Sprintf(format, args...)))
	}
	switch {
	case !channelName.MatchString(c.Name):
		return fmt.Errorf("%.70q is no name of a channel: it needs lower-case letters, digits and hyphens", c.Name)
	case c.Name == policy.LogChannel && c.Kind != Log:
		complain("kind", "must be log: the channel of that name is always the log")
	}
	fields := Fields(c.Kind)
	if fields == nil {
		complain("kind", "must be one of %v", Kinds())
		return errors.Join(bad...)
	}
	bad = append(bad, CheckValues("channel", c.Name, string(c.Kind), fields, c.Values, checkField)...)
	if c.Kind == Email && c.Values["user"] != "" && c.Values["tls"] == string(NoTLS) {
		complain("tls", "must not be none where a password is sent")
	}
	return errors.Join(bad...)
}

// CheckValues returns what is wrong with the values of a channel, or whatever else has
// a name, a kind and fields: what is missing, what check does not like, and what it
// does not have. No value is in the errors.
func CheckValues(what, name, kind string, fields []Field, values map[string]string, check func(field, value string) error) []error {
	var bad []error
	complain := func(field, format string, args ...any) {
		bad = append(bad, fmt.Errorf("%s %s: %s %s", what, name, field, fmt.Sprintf(format, args...)))
	}
	for _, f := range fields {
		switch value := values[f.Name]; {
		case value == "" && f.Required:
			complain(f.Name, "is missing: %s", f.Help)
		case value != "":
			if err := check(f.Name, value); err != nil {
				complain(f.Name, "%s", err)
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == field }) {
			complain(field, "is nothing that a %s of the kind %s has", what, kind)
		}
	}
	return bad
}

// CheckAddress checks the fields that say where signed requests go: url, secret and
// public-only.
func CheckAddress(field, value string) error {
	switch field {
	case "url":
		return checkURL(value)
	case "secret":
		if len(value) < 16 {
			return errors.New("must have 16 characters or more")
		}
	case "public-only":
		if value != "true" && value != "false" {
			return errors.New("must be true or false")
		}
	}
	return nil
}

func checkField(name, value string) error {
	switch name {
	case "server":
		if host, port, err := net.SplitHostPort(value); err != nil || host == "" || port == "" {
			return errors.New("must be HOST:PORT")
		}
	case "from":
		if _, err := mail.ParseAddress(value); err != nil {
			return errors.New("must be an address such as recoup@example.com")
		}
	case "to":
		if _, err := mail.ParseAddressList(value); err != nil {
			return errors.New("must be addresses with commas between them")
		}
	case "tls":
		if s := Security(value); s != StartTLS && s != Implicit && s != NoTLS {
			return errors.New("must be starttls, implicit or none")
		}
	}
	return CheckAddress(name, value)
}

// checkURL wants https, or http to this machine. It never repeats the address.
func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("must be an address that begins with https://")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("must begin with https:// (http:// is allowed for loopback only)")
	}
	if u.User != nil || u.Fragment != "" {
		return errors.New("must have no user and no fragment")
	}
	return nil
}

// New makes the channel.
func New(c Config, t Tools) (Channel, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	v := c.Values
	switch c.Kind {
	case Slack:
		return &slack{newPoster(v["url"], t, v["public-only"] == "true")}, nil
	case PagerDuty:
		address := v["url"]
		if address == "" {
			address = pagerDutyURL
		}
		return &pagerDuty{newPoster(address, t, false), v["key"], t.Source}, nil
	case Webhook:
		return &webhook{newPoster(v["url"], t, v["public-only"] != "false"), []byte(v["secret"])}, nil
	case Email:
		return newEmail(v, t)
	}
	return &logChannel{t.Logger}, nil
}

func newEmail(v map[string]string, t Tools) (Channel, error) {
	host, _, err := net.SplitHostPort(v["server"])
	if err != nil {
		return nil, err
	}
	from, err := mail.ParseAddress(v["from"])
	if err != nil {
		return nil, err
	}
	to, err := mail.ParseAddressList(v["to"])
	if err != nil {
		return nil, err
	}
	e := &email{
		server: v["server"], host: host, from: *from, user: v["user"], password: v["password"], security: Security(v["tls"]),
		tls: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: t.Roots},
	}
	for _, a := range to {
		e.to = append(e.to, *a)
	}
	if e.security == "" {
		e.security = StartTLS
	}
	return e, nil
}

// gap is how long a channel of a kind waits between messages: what the other side
// asks for, or what its people can bear.
func (k Kind) gap() time.Duration {
	switch k {
	case Slack:
		return time.Second
	case PagerDuty, Email:
		return 250 * time.Millisecond
	case Webhook:
		return 50 * time.Millisecond
	}
	return 0
}
