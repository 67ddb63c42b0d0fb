package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/access"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// authorize finds out who calls and whether they may.
func (s *Server) authorize(c *Call) error {
	if c.route.open() {
		return nil
	}
	if s.Open != "" {
		c.Caller = access.Caller{Name: s.Open}
		return nil
	}
	key, err := s.authenticate(c)
	if err != nil {
		return err
	}
	c.Key, c.Caller = key, access.Caller{Name: key.Name, Key: key.ID, Hubs: key.Hubs}
	fault.Annotate(c.Context(), func(x *fault.Annotations) {
		x.APIKeyID, x.AccountID = key.Hint+"…", key.Name
		if source := c.Request.Header.Get("X-Recoup-Service"); len(source) <= check.MaxIdentifier && !secretive(source) {
			x.RequestSource = source
		}
	})
	if err := c.route.Refuse(key); err != nil {
		return err
	}
	return s.refuseOnStandby(c.route)
}

// Refuse says why a key may not call the route; nil: it may.
func (r *Route) Refuse(key *wire.Key) error {
	if !r.permits(Role(key.Role)) {
		return fault.New(fault.CodeInsufficientPermissions, "A key of the role %s may not do this.", key.Role).
			With("role", key.Role).With("required_roles", r.permitted())
	}
	if r.Info.AllHubs && len(key.Hubs) > 0 {
		return fault.New(fault.CodeInsufficientPermissions, "A key for some hubs may not do this, because it concerns all of them: use a key for all hubs.").
			With("hubs", key.Hubs)
	}
	return nil
}

// fromHere refuses what a page of somebody else could make a browser on this
// machine send: without keys, the address is all that protects a demo.
func fromHere(r *http.Request) error {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err == nil && loopback(r.Host) && (r.Header.Get("Origin") == "" || loopback(origin.Host)) {
		return nil
	}
	return fault.New(fault.CodeInsufficientPermissions, "A demo answers only this machine, under the name of a loopback address.")
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// permitted lists the roles that may call the route.
func (r *Route) permitted() []Role {
	return slices.DeleteFunc(Roles(), func(role Role) bool { return !r.permits(role) })
}

// authenticate returns the key that the request carries.
func (s *Server) authenticate(c *Call) (*wire.Key, error) {
	hash, formed := presented(c.Request)
	if !s.keys.knows(hash, c.Now) {
		if err := s.admission.unkeyed(s.client(c.Request), c.Now); err != nil {
			s.admission.anonymous.holdBack(c.Context())
			return nil, err
		}
	}
	if !formed {
		return nil, invalidKey(c)
	}
	key, err := s.keys.find(c.Context(), hash, c.Now, c.route.carried)
	switch {
	case errors.Is(err, errNoKey): // and was charged for
		return nil, invalidKey(c)
	case errors.Is(err, sqldb.ErrNotFound):
		s.admission.guessed(s.client(c.Request), c.Now)
		return nil, invalidKey(c)
	case err != nil:
		return nil, unread(err)
	case subtle.ConstantTimeCompare(hash[:], key.Hash[:]) != 1, !key.RevokedAt.IsZero():
		return nil, invalidKey(c)
	case !key.Valid(c.Now):
		challenge(c)
		return nil, fault.New(fault.CodeAPIKeyExpired, "The API key has expired; ask an administrator for a new one.").
			With("expired_at", key.ExpiresAt.UTC().Format(time.RFC3339)).With("renewal_url", keyRenewal)
	}
	s.keys.touch(key.ID, c.Now)
	return key, nil
}

// holder returns the valid key that a request comes with where none is needed; nil: it has none,
// or its key could not be looked up.
func (s *Server) holder(r *http.Request) *wire.Key {
	now := s.Now()
	hash, formed := presented(r)
	if !formed || !s.keys.knows(hash, now) && s.admission.unkeyed(s.client(r), now) != nil {
		return nil
	}
	key, err := s.keys.find(r.Context(), hash, now, false)
	switch {
	case errors.Is(err, sqldb.ErrNotFound) && !errors.Is(err, errNoKey):
		s.admission.guessed(s.client(r), now)
		return nil
	case err != nil, !key.Valid(now):
		return nil
	}
	return key
}

// callKey is under which a context carries the hash of a key.
type callKey struct{}

// WithKey returns a context whose calls are those of the key with this hash, whatever
// their headers say: the key is looked up, and held to its limits, as any other. It is
// for the pages of this process, which know a session and not the key's secret. Nothing
// that comes over a connection can have it.
func WithKey(ctx context.Context, hash [32]byte) context.Context {
	return context.WithValue(ctx, callKey{}, hash)
}

// presented returns the hash of the key that a request comes with, and whether it can
// be one.
func presented(r *http.Request) (hash [32]byte, formed bool) {
	if hash, ok := r.Context().Value(callKey{}).([32]byte); ok {
		return hash, true
	}
	secret := bearer(r.Header)
	var room [64]byte // for what is no longer than a key, which then stays on the stack
	return sha256.Sum256(append(room[:0], secret...)), wellFormed(secret)
}

// bearer returns the key of a request. One that names several is not guessed at:
// whoever stands in between may have read another than we would.
func bearer(h http.Header) string {
	authorization, named := h["Authorization"], h["X-Api-Key"]
	if len(authorization)+len(named) != 1 {
		return ""
	}
	if len(named) == 1 {
		return named[0]
	}
	scheme, secret, _ := strings.Cut(authorization[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// invalidKey is the answer to whatever is no key, for whatever reason.
func invalidKey(c *Call) error {
	challenge(c)
	return fault.New(fault.CodeInvalidAPIKey, "The API key is missing, unknown or revoked: send Authorization: Bearer KEY. On the server's machine, 'recoup keys create --role ROLE --name NAME' makes one.").
		With("key_format", keyFormat).With("expiration_policy", "keys expire after 90 days")
}

// challenge says which kind of key is wanted.
func challenge(c *Call) { c.ResponseHeader().Set("WWW-Authenticate", `Bearer realm="recoup"`) }

// StandbyHeader is in every answer of a standby.
const StandbyHeader = "Recoup-Standby"

// refuseOnStandby refuses on a standby what would change something. Who sent it would get the
// same answer again, so it is no fault that passes.
func (s *Server) refuseOnStandby(rt *Route) error {
	if !s.Standby || !rt.writes() || rt.pure {
		return nil
	}
	return fault.New(fault.CodeInsufficientPermissions,
		"This node is a standby (--standby), which answers reads only; nothing was changed. Send this to a node of the production database, or start this one without --standby.").
		With("standby", true)
}
