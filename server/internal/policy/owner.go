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

// PipelineHub returns the hub that a pipeline belongs to: the one that lists it, else
// the platform's.
func (p *Policy) PipelineHub(pipeline string) *Hub {
	for _, h := range p.Hubs {
		if slices.Contains(h.Pipelines, pipeline) {
			return h
		}
	}
	return p.PlatformHub
}

// PipelinesOf returns the pipelines of some hubs. The platform hub has all that no hub
// lists: with it among them, it returns those that are not theirs instead.
func (p *Policy) PipelinesOf(hubs []string) (names []string, except bool) {
	except = slices.Contains(hubs, p.PlatformHub.ID)
	for _, h := range p.Hubs {
		if slices.Contains(hubs, h.ID) != except {
			names = append(names, h.Pipelines...)
		}
	}
	return names, except
}
