package bus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// ErrRefused is returned while servers answer, and do not let this node in or do what it
// must. That can be mended without a restart of the node.
var ErrRefused = fmt.Errorf("%w: it refuses this node", ErrAway)

// CheckFiles says what is wrong with the files of the options. Only what a node can judge
// by itself keeps it from starting; what servers say of it does not.
func (o Options) CheckFiles() error {
	return errors.Join(o.checkCA(), o.checkCertificate(), o.checkCredentials())
}

func (o Options) checkCA() error {
	if o.CA == "" {
		return nil
	}
	text, err := os.ReadFile(o.CA)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
		err = errors.New("it holds no certificate; expected one or more in PEM")
	}
	if err != nil {
		return fmt.Errorf("--bus-ca %s: %w", o.CA, bare(err))
	}
	return nil
}

func (o Options) checkCertificate() error {
	if o.Cert == "" {
		return nil
	}
	for _, file := range []struct{ flag, name string }{{"--bus-cert", o.Cert}, {"--bus-key", o.Key}} {
		if _, err := os.ReadFile(file.name); err != nil {
			return fmt.Errorf("%s %s: %w", file.flag, file.name, bare(err))
		}
	}
	if _, err := tls.LoadX509KeyPair(o.Cert, o.Key); err != nil {
		return fmt.Errorf("--bus-cert %s with --bus-key %s: %w; expected a certificate and its key in PEM", o.Cert, o.Key, err)
	}
	return nil
}

func (o Options) checkCredentials() error {
	if o.Credentials == "" {
		return nil
	}
	text, err := os.ReadFile(o.Credentials)
	if err != nil {
		return fmt.Errorf("--bus-credentials %s: %w", o.Credentials, bare(err))
	}
	defer clear(text)
	_, jwtErr := nkeys.ParseDecoratedJWT(text)
	pair, keyErr := nkeys.ParseDecoratedUserNKey(text)
	if jwtErr != nil || keyErr != nil { // whose own words may quote the file
		return fmt.Errorf("--bus-credentials %s: it holds no user's credentials; expected a file that 'nsc generate creds' or 'nats auth user credential' has made", o.Credentials)
	}
	pair.Wipe()
	return nil
}

// bare is an error of a file without the file's name, which the message has already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// user says how this node says who it is, without what is secret of it.
func (o Options) user() string {
	if o.Credentials != "" {
		return "--bus-credentials " + o.Credentials
	}
	for _, address := range o.addresses() {
		u, err := url.Parse(address)
		if err != nil || u.User == nil {
			continue
		}
		if _, has := u.User.Password(); !has {
			return "the token in --bus"
		}
		return "the user " + u.User.Username() + " and its password in --bus"
	}
	if o.Cert != "" {
		return "--bus-cert " + o.Cert
	}
	return "--bus, which names no user, and --bus-credentials, which is not set"
}

// explain says in an operator's words why servers refuse this node. Other errors it
// returns as they are.
func (o Options) explain(err error) error {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		remote  *net.OpError
		why     string
	)
	switch {
	case errors.Is(err, ErrRefused):
		return err
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		why = "its credentials have expired or were revoked: renew " + o.user()
	case errors.Is(err, nats.ErrAuthorization):
		why = "the servers do not accept " + o.user()
	case errors.Is(err, nats.ErrPermissionViolation):
		why = "its user lacks a permission; docs/scale.md lists those that it needs"
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		why = "the server's certificate cannot be trusted: --bus-ca must name the authority that signed it" + given(o.CA) + ", and --bus a host that it is for"
	case errors.Is(err, nats.ErrSecureConnWanted):
		why = "TLS was asked for, and the server does not offer it: use nats:// without --bus-ca and --bus-cert, or set tls { … } on the server"
	case errors.As(err, &remote) && remote.Op == "remote error":
		why = "the server does not accept the certificate of this node: --bus-cert must be one that its ca_file has signed" + given(o.Cert)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		why = "a file that it was started with cannot be read any more"
	default:
		return err
	}
	return fmt.Errorf("%w: %s (%w)", ErrRefused, why, err)
}

func given(file string) string {
	if file == "" {
		return " (it is not set)"
	}
	return " (it is " + file + ")"
}

// attempted notes why a connection could not be made. A refusal is kept when a connection
// just ends after it, which is how one that comes with a handshake may look.
func (b *Conn) attempted(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	explained := b.o.explain(err)
	gone := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, nats.ErrNoServers)
	if gone || errors.Is(explained, ErrRefused) || !errors.Is(b.attempt, ErrRefused) {
		b.attempt = explained
	}
}

// unconnected says why there is no connection. Not all refusals are told to whoever
// handles failed attempts.
func (b *Conn) unconnected() error {
	if err := b.conn.LastError(); err != nil {
		b.attempted(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.attempt
}

// denied notes what servers say at any time. A permission that is missing ends what is
// waiting for an answer, which will not come.
func (b *Conn) denied(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		b.o.Logger.Debug("bus", "cause", err)
		return
	}
	err = b.o.explain(err)
	b.mu.Lock()
	fresh := b.denial == nil || b.denial.Error() != err.Error()
	b.denial = err
	if b.endPrepare != nil {
		b.endPrepare(err)
	}
	b.mu.Unlock()
	if fresh {
		b.o.Logger.Error("bus: permission denied", "cause", err)
	}
}

// deniable is a context that ends once a permission turns out to be missing.
func (b *Conn) deniable(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endPrepare = cancel
	return ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.endPrepare = nil
		cancel(nil)
	}
}

// noStream is a stream that there is not.
const noStream = "RECOUP_NONE"

// mayPublish finds out whether a message to a subject would be answered, with one that
// no stream takes.
func (b *Conn) mayPublish(ctx context.Context, subject string) error {
	_, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: subject}, jetstream.WithExpectStream(noStream), jetstream.WithRetryAttempts(0))
	var answered *jetstream.APIError
	if err == nil || errors.As(err, &answered) {
		return nil
	}
	return err
}
