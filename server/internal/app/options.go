package app

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// Options of a node. Zero values stand for what withDefaults says.
type Options struct {
	Database    string // sqlite:FILE or postgres://…
	Adoption    string // postgres://…, where adopted tables are reached; empty: at Direct or Database
	SchemaOwner string // the role that owns the schema recoup, if the user of Database is not it and has more rights
	Direct      string // postgres://…, the database itself where Database is a pooler's; empty: none is known
	Listen      string // HOST:PORT
	Policy      string // a file; empty: what the database has, else First
	First       []byte // the policy that a database without one begins with; nil: the default policy
	Demo        bool   // no keys are needed; on loopback only
	URL         string // where people find the node, for links; empty: there are none
	Channels    []notify.Config

	Proxies []netip.Prefix // whose X-Forwarded headers are believed

	MasterKey []byte // 32 bytes that encrypt the platform's own keys; none: they are plaintext in the database

	LooseFiles []doctor.LooseFile // files with secrets that others can read

	masterKeyFile string

	Receivers []push.Config

	Slices   []slice.Slice // what the node has beside its core
	Settings config.Values // of all settings, for slices

	MetricsListen   string // HOST:PORT where metrics are shown to all who can reach it; empty: with the API, for keys
	TLSCert, TLSKey string // files; empty: no TLS

	Traces   string // the address of an OpenTelemetry collector; empty: none
	Limits   httpapi.Limits
	Timeouts Timeouts
	Grace    time.Duration // how long a stop waits for requests
	Idle     Idle
	Standby  bool    // it answers reads on a copy of a database, whose own nodes do the work
	Build    Version // of the program; zero: its own
	Node     string  // the node's name, in logs
	Logger   *slog.Logger
	LogLevel slog.Level // of the logger that LogTo makes
	LogJSON  bool
	Now      func() time.Time // a test's, for the node and its store; nil: the real one
	Random   io.Reader

	// FirstKey receives the admin key that a first start creates. If it fails, the key is
	// revoked. Nil: the key is dropped.
	FirstKey     func(secret string) error
	AdminKeyFile string // where FirstKey is to write the key; off: no key is created; empty: as FirstKey decides
}

// Timeouts bound how long a connection can make the node wait.
type Timeouts struct {
	Header time.Duration // until a request's header has come
	Read   time.Duration // until the whole of it has
	Write  time.Duration // from there until its answer has left; a claim may wait for a minute
	Idle   time.Duration // between requests
}

func (t Timeouts) withDefaults() Timeouts {
	t.Header = cmp.Or(t.Header, 10*time.Second)
	t.Read = cmp.Or(t.Read, 30*time.Second)
	t.Write = cmp.Or(t.Write, 2*time.Minute)
	t.Idle = cmp.Or(t.Idle, 2*time.Minute)
	return t
}

// DefaultDatabase is where data is kept unless somebody says otherwise.
const (
	DefaultDatabase = "sqlite:recoup.db"
	DefaultListen   = "127.0.0.1:8080"
)

// clock is that of who opens a database without a node.
func (o Options) clock() func() time.Time {
	if o.Now != nil {
		return o.Now
	}
	return time.Now
}

func (o Options) withDefaults() Options {
	o.Database = cmp.Or(o.Database, DefaultDatabase)
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.Timeouts = o.Timeouts.withDefaults()
	o.Grace = cmp.Or(o.Grace, 20*time.Second)
	o.Build = cmp.Or(o.Build, OwnVersion())
	if o.Node == "" {
		o.Node, _ = os.Hostname()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.FirstKey == nil {
		o.FirstKey = func(string) error { return nil }
	}
	return o
}

// ErrDemoBeyondLoopback is returned for a demo that others could reach: it asks
// for no keys.
var ErrDemoBeyondLoopback = errors.New("a demo needs no key, so it listens on loopback only: choose 127.0.0.1:PORT, or run recoup serve")

func (o Options) validate() error {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("--listen %q is not HOST:PORT", o.Listen)
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key go together: give both or none")
	}
	if ip := net.ParseIP(host); o.Demo && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ErrDemoBeyondLoopback
	}
	_, _, err = splitDatabase(o.Database)
	return err
}

// splitDatabase returns the kind of a database from its address.
func splitDatabase(address string) (kind, rest string, err error) {
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok && file != "" {
		return "sqlite", strings.TrimPrefix(file, "//"), nil
	}
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		return "postgres", address, nil
	}
	return "", "", errors.New("--database must be sqlite:FILE or postgres://…")
}
