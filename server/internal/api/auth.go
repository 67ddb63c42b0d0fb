package api

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

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// authorize finds out who calls and whether they may.
func (a *API) authorize(c *call) error {
	if c.route.open() {
		return nil
	}
	if a.Open != "" {
		c.caller = engine.Caller{Name: a.Open}
		return nil
	}
	key, err := a.authenticate(c)
	if err != nil {
		return err
	}
	c.key, c.caller = key, engine.Caller{Name: key.Name, Key: key.ID, Hubs: key.Hubs}
	fault.Annotate(c.r.Context(), func(x *fault.Annotations) {
		x.APIKeyID, x.AccountID = key.Hint+"…", key.Name
		if source := c.r.Header.Get("X-Recoup-Service"); len(source) <= check.MaxIdentifier && !secretive(source) {
			x.RequestSource = source
		}
	})
	if err := c.route.refuse(key); err != nil {
		return err
	}
	return a.refuseOnStandby(c.route)
}

// refuse says why a key may not call the route; nil: it may.
func (r *route) refuse(key *recoup.Key) error {
	if !r.permits(Role(key.Role)) {
		return fault.New(fault.CodeInsufficientPermissions, "A key of the role %s may not do this.", key.Role).
			With("role", key.Role).With("required_roles", r.permitted())
	}
	if r.global && len(key.Hubs) > 0 {
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
func (r *route) permitted() []Role {
	return slices.DeleteFunc(Roles(), func(role Role) bool { return !r.permits(role) })
}

// authenticate returns the key that the request carries.
func (a *API) authenticate(c *call) (*recoup.Key, error) {
	hash, formed := presented(c.r)
	if !a.keys.knows(hash, c.now) {
		if err := a.admission.unkeyed(a.client(c.r), c.now); err != nil {
			a.admission.anonymous.holdBack(c.r.Context())
			return nil, err
		}
	}
	if !formed {
		return nil, invalidKey(c)
	}
	key, err := a.keys.find(c.r.Context(), hash, c.now, c.route.carried)
	switch {
	case errors.Is(err, errNoKey): // and was charged for
		return nil, invalidKey(c)
	case errors.Is(err, sqldb.ErrNotFound):
		a.admission.guessed(a.client(c.r), c.now)
		return nil, invalidKey(c)
	case err != nil:
		return nil, unread(err)
	case subtle.ConstantTimeCompare(hash[:], key.Hash[:]) != 1, !key.RevokedAt.IsZero():
		return nil, invalidKey(c)
	case !key.Valid(c.now):
		challenge(c)
		return nil, fault.New(fault.CodeAPIKeyExpired, "The API key has expired; ask an administrator for a new one.").
			With("expired_at", key.ExpiresAt.UTC().Format(time.RFC3339)).With("renewal_url", keyRenewal)
	}
	a.keys.touch(key.ID, c.now)
	return key, nil
}

// holder returns the valid key that a request comes with where none is needed; nil: it has none,
// or its key could not be looked up.
func (a *API) holder(r *http.Request) *recoup.Key {
	now := a.Now()
	hash, formed := presented(r)
	if !formed || !a.keys.knows(hash, now) && a.admission.unkeyed(a.client(r), now) != nil {
		return nil
	}
	key, err := a.keys.find(r.Context(), hash, now, false)
	switch {
	case errors.Is(err, sqldb.ErrNotFound) && !errors.Is(err, errNoKey):
		a.admission.guessed(a.client(r), now)
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
func invalidKey(c *call) error {
	challenge(c)
	return fault.New(fault.CodeInvalidAPIKey, "The API key is missing, unknown or revoked: send Authorization: Bearer KEY. On the server's machine, 'recoup keys create --role ROLE --name NAME' makes one.").
		With("key_format", keyFormat).With("expiration_policy", "keys expire after 90 days")
}

// challenge says which kind of key is wanted.
func challenge(c *call) { c.w.Header().Set("WWW-Authenticate", `Bearer realm="recoup"`) }
