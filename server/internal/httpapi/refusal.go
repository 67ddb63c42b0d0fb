package httpapi

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// refusalEvery is how often the refusals of one kind are logged.
const refusalEvery = 10 * time.Second

// sampled are the codes of requests that are turned away before anything is done
// for them, or for what their key may not do. Anybody can cause any number of them,
// so they are logged as a count.
func sampled(code recoup.Code) bool {
	switch code {
	case fault.CodeServiceOverloaded, fault.CodeRateLimitExceeded, fault.CodeInvalidAPIKey, fault.CodeAPIKeyExpired,
		fault.CodeInsufficientPermissions, fault.CodePayloadTooLarge:
		return true
	}
	return false
}

// refusals counts requests that were turned away and logs the first of a kind, and
// then how many there were, with one of them as an example.
type refusals struct {
	logger *slog.Logger

	mu    sync.Mutex
	kinds map[refusalKind]*refusal
}

// refusalKind groups refused requests. Each key has a count of its own, so that one key
// cannot hide the refused requests of another.
type refusalKind struct {
	code recoup.Code
	key  recoup.ID // zero: no valid one
}

type refusal struct {
	n       int // since it was logged
	logged  time.Time
	example []any
}

// note counts a request of a client that failed.
func (r *refusals) note(c *Call, client netip.Addr, err error) {
	code := fault.From(err).Code
	if !sampled(code) {
		return
	}
	kind := refusalKind{code: code}
	example := []any{"endpoint", c.route.Info.Method + " " + c.route.Info.Path}
	if c.Key != nil {
		kind.key = c.Key.ID
		example = append(example, "key", c.Key.Hint+"…")
	}
	if client.IsValid() {
		example = append(example, "client", named(client))
	}
	if ctx, ok := fault.FromContext(c.Context()); ok {
		example = append(example, "context", ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[kind]
	if k == nil {
		k = &refusal{}
		r.kinds[kind] = k
	}
	k.n, k.example = k.n+1, example
	r.log(code, k, c.Now)
}

// log logs what has not been logged, unless that was lately.
func (r *refusals) log(code recoup.Code, k *refusal, now time.Time) {
	if since := now.Sub(k.logged); k.n == 0 || since >= 0 && since < refusalEvery {
		return
	}
	r.logger.Warn("requests refused", append([]any{"code", string(code), "count", k.n}, k.example...)...)
	k.n, k.logged = 0, now
}

// LogRefusals logs how many requests were turned away since it was last said. It
// is called now and then.
func (s *Server) LogRefusals(context.Context) error {
	r := s.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	for kind, k := range r.kinds {
		if r.log(kind.code, k, s.Now()); k.n == 0 && s.Now().Sub(k.logged) >= refusalEvery {
			delete(r.kinds, kind)
		}
	}
	return nil
}

// quiet leaves single requests that were turned away to those who debug: how many
// there were is logged by [refusals].
type quiet struct{ slog.Handler }

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	refused := false
	r.Attrs(func(a slog.Attr) bool {
		refused = a.Key == "code" && sampled(recoup.Code(a.Value.String()))
		return !refused
	})
	if refused {
		if r.Level = slog.LevelDebug; !q.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }
