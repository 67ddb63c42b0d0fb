package stream

import (
	"context"
	"sync"
	"time"
)

const (
	// CredentialPeriod is the time between two checks of a credential: how long a stream may
	// outlive one that has ended on another node.
	CredentialPeriod = 3 * time.Second

	credentialTimeout = 5 * time.Second // of a check
)

// Credentials ends streams and long polls when the credential that opened them ends: an API key
// or a session, named by the hash of its secret. Each is checked by one goroutine, for as long
// as something uses it. The zero value is ready.
type Credentials struct {
	mu      sync.Mutex
	watched map[[32]byte]*credential
}

type credential struct {
	users int
	again chan struct{} // credentials have changed on this node
	ctx   context.Context
	end   context.CancelCauseFunc
}

// Watch returns a context that ends once check returns an error, with that error as its cause.
// check returns nil as long as the credential is valid, and if that could not be found out. It
// runs after every Recheck and once in CredentialPeriod. The check of the first of several
// callers with one hash serves all. leave must be called when the stream has ended.
func (c *Credentials) Watch(ctx context.Context, hash [32]byte, check func(context.Context) error) (_ context.Context, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watched[hash]
	if w == nil {
		w = &credential{again: make(chan struct{}, 1)}
		w.ctx, w.end = context.WithCancelCause(context.WithoutCancel(ctx))
		if c.watched == nil {
			c.watched = map[[32]byte]*credential{}
		}
		c.watched[hash] = w
		go c.look(w, hash, check)
	}
	w.users++
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.leave(w, hash)
	}
}

// leave ends the checks of a credential with its last user.
func (c *Credentials) leave(w *credential, hash [32]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.users--; w.users == 0 {
		w.end(nil)
		c.remove(w, hash)
	}
}

// remove takes a credential out of the map, unless another of its hash has replaced it. The
// caller holds the lock.
func (c *Credentials) remove(w *credential, hash [32]byte) {
	if c.watched[hash] == w {
		delete(c.watched, hash)
	}
}

func (c *Credentials) look(w *credential, hash [32]byte, check func(context.Context) error) {
	tick := time.NewTicker(CredentialPeriod)
	defer tick.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.again:
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(w.ctx, credentialTimeout)
		cause := check(ctx)
		cancel()
		if cause != nil {
			c.mu.Lock()
			c.remove(w, hash)
			c.mu.Unlock()
			w.end(cause)
			return
		}
	}
}

// Recheck checks every credential at once.
func (c *Credentials) Recheck() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watched {
		select {
		case w.again <- struct{}{}:
		default: // a check is due already
		}
	}
}
