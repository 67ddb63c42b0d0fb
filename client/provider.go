package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"recoup"
	"recoup/fault"
)

// Providers is every group of providers.
type Providers struct {
	Providers []recoup.Provider `json:"providers"`
}

// ProviderSwitch asks to use another member of a group.
type ProviderSwitch struct {
	To     string `json:"to" maxLength:"100"`
	Reason string `json:"reason" maxLength:"1000"`
}

// Providers returns the groups of providers, each with the member in use.
func (c *Client) Providers(ctx context.Context, options ...CallOption) ([]recoup.Provider, error) {
	answer, err := get[Providers](ctx, c, "/v1/providers", nil, options)
	return answer.Providers, err
}

// providerLife is how long an answer is taken for the present: a switch is noticed
// within it.
const providerLife = 5 * time.Second

// providerPatience is how long a call waits for news when there is an old answer.
const providerPatience = 2 * time.Second

// providerCache remembers which providers are in use.
type providerCache struct {
	mu    sync.Mutex
	known []recoup.Provider
	until time.Time
}

// ActiveProvider returns the member of a group to be asked now. It is meant to be
// called before every use: the answer is remembered for a few seconds, and while
// the server is away the last one stands. A group that there is not is NOT_FOUND.
func (c *Client) ActiveProvider(ctx context.Context, group string) (string, error) {
	b := &c.providers
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := c.o.Now(); b.known == nil || !now.Before(b.until) {
		if err := b.refresh(ctx, c); err != nil && b.known == nil {
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
	list, err := c.Providers(ctx, options...)
	if err == nil {
		b.known = append([]recoup.Provider{}, list...)
	}
	return err
}
