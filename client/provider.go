package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// List returns the groups of providers, each with the member in use.
func (s ProviderService) List(ctx context.Context, options ...CallOption) ([]recoup.Provider, error) {
	answer, err := get[recoup.ProviderList](ctx, s.c, "/v1/providers", nil, options)
	return answer.Providers, err
}

// providerLife is how long an answer is cached: a switch is noticed within it.
const providerLife = 5 * time.Second

// providerPatience is how long a refresh may take before the old answer is used.
const providerPatience = 2 * time.Second

// providerCache remembers which providers are in use.
type providerCache struct {
	mu    sync.Mutex
	known []recoup.Provider
	until time.Time
}

// Active returns the member of a group to use now. Call it before every use:
// the answer is cached for a few seconds, and the last one is used while the server
// is unreachable. An unknown group is NOT_FOUND.
func (s ProviderService) Active(ctx context.Context, group string) (string, error) {
	b := s.cache
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := s.c.o.Now(); b.known == nil || !now.Before(b.until) {
		if err := b.refresh(ctx, s.c); err != nil && b.known == nil {
			return "", err
		}
		b.until = now.Add(providerLife)
	}
	i := slices.IndexFunc(b.known, func(p recoup.Provider) bool { return p.Group == group })
	if i < 0 {
		return "", fault.New(fault.CodeNotFound, "The policy has no group of providers of that name.")
	}
	return b.known[i].Active, nil
}

func (b *providerCache) refresh(ctx context.Context, c *Client) error {
	var options []CallOption
	if b.known != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, providerPatience)
		defer cancel()
		options = append(options, NoRetry())
	}
	list, err := c.Providers.List(ctx, options...)
	if err == nil {
		b.known = append([]recoup.Provider{}, list...)
	}
	return err
}
