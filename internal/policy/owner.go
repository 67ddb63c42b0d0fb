package policy

import "slices"

// ServiceHub returns the hub that a service belongs to: the one that lists it, or
// whose table it is. Empty: none, and only keys for all hubs may speak for it.
func (p *Policy) ServiceHub(service string) string {
	if t, ok := p.byName[service]; ok {
		return t.Hub
	}
	for _, h := range p.Hubs {
		if slices.Contains(h.Services, service) {
			return h.ID
		}
	}
	return ""
}

// ProviderHub returns the hub that alone uses a provider. Empty: all do, and which
// one is in use concerns all of them.
func (p *Policy) ProviderHub(provider string) string {
	for i := range p.Providers {
		if slices.Contains(p.Providers[i].Members, provider) {
			return p.Providers[i].Hub
		}
	}
	return ""
}
