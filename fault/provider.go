package fault

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
)

//go:embed providers.json
var providersJSON []byte

var defaultProviders = sync.OnceValue(func() Providers {
	p, err := LoadProviders(providersJSON)
	if err != nil {
		panic("fault: the embedded providers are broken: " + err.Error())
	}
	return p
})

// Providers is a checked set of rules for services by name. It is immutable and
// safe for concurrent use.
type Providers struct{ byName map[string]*Provider }

// Provider holds the rules for one external service: where its failures mean
// something else than they would in general.
type Provider struct {
	Name     string `json:"name"`
	Fallback string `json:"fallback,omitempty"` // the provider to use instead
	Rules    []Rule `json:"rules"`

	registry *Registry
}

// Rule gives a code to failures. It applies where all fields that are set match; the
// first rule that applies wins.
type Rule struct {
	Status []int         `json:"status,omitempty"` // of the answer
	Words  []string      `json:"words,omitempty"`  // the provider's own, in lower_snake_case
	Codes  []recoup.Code `json:"codes,omitempty"`  // what the failure would be in general
	Scope  Scope         `json:"scope,omitempty"`  // as above
	Code   recoup.Code   `json:"code"`             // what it is
}

// Redact removes secrets and personal data from a text.
type Redact func(string) string

// DefaultProviders returns the rules that ship with Recoup.
func DefaultProviders() Providers { return defaultProviders() }

// LoadProviders reads providers from a JSON list and checks that their rules
// can apply, name registered codes, and fall back on providers that exist.
func LoadProviders(data []byte) (Providers, error) { return Default().LoadProviders(data) }

// LoadProviders is [LoadProviders] for programs with codes of their own.
func (r *Registry) LoadProviders(data []byte) (Providers, error) {
	var list []*Provider
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return Providers{}, fmt.Errorf("read providers: %w", err)
	}
	set := Providers{make(map[string]*Provider, len(list))}
	for _, p := range list {
		p.registry = r
		set.byName[p.Name] = p
	}
	var problems []error
	for _, p := range list {
		if set.byName[p.Name] != p {
			problems = append(problems, fmt.Errorf("provider %q is there twice", p.Name))
		}
		problems = append(problems, p.check(set))
	}
	if err := errors.Join(problems...); err != nil {
		return Providers{}, fmt.Errorf("providers: %w", err)
	}
	return set, nil
}

// Lookup returns the provider of that name.
func (s Providers) Lookup(name string) (*Provider, bool) {
	p, ok := s.byName[name]
	return p, ok
}

// Names lists the providers in alphabetical order.
func (s Providers) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Classify is [Classify] for an error of a call to this provider. The verdict's
// details name the provider, its fallback where another provider may do better,
// and as provider_error the type of err, the word that is known of it, or its text if
// redact is given. The text is read only if [Classify] does not know the error: for the
// words of the rules, and for those that [ClassifyResponse] knows.
func (p *Provider) Classify(err error, redact Redact) Verdict {
	v := p.codes().Classify(err)
	if v.Code == "" || v.Code == CodeRequestCancelled {
		return v
	}
	var words []string
	if v.Code == CodeInternalError {
		v, words = p.read(v, err)
	}
	v = p.apply(v, 0, words)
	switch {
	case redact != nil:
		v = v.with("provider_error", redact(fmt.Sprint(err)))
	case len(words) == 0 || v.Details["provider_error"] == nil:
		v = v.with("provider_error", fmt.Sprintf("%T", err))
	}
	return p.describe(v)
}

// read returns the words in the text of an error that [Classify] does not know, and its
// verdict with the code that one of them means. An [*Error] has its code already.
func (p *Provider) read(v Verdict, err error) (Verdict, []string) {
	if hasNil(err) {
		return v, nil
	}
	if _, known := errors.AsType[*Error](err); known {
		return v, nil
	}
	h := hint{words: wordsOf(err.Error())}
	if code, word := h.code(); code != "" {
		v = p.codes().of(code).with("provider_error", word)
		v.Page = false // the fault is the other system's
	}
	return v, h.words
}

// ClassifyResponse is [ClassifyResponse] for an answer of this provider. It also
// finds failures in answers below 400 where a rule says so, and returns the
// zero Verdict for all others. provider_error is a word that a rule or
// [ClassifyResponse] knows, or the provider's first word if redact is given.
func (p *Provider) ClassifyResponse(status int, header http.Header, body []byte, now time.Time, redact Redact) Verdict {
	h := p.codes().readHint(body)
	v := p.apply(p.codes().ofAnswer(status, h), status, h.words)
	if v.Code == "" {
		return v
	}
	if v.Details["provider_error"] == nil && redact != nil && len(h.words) > 0 {
		v = v.with("provider_error", redact(h.words[0]))
	}
	return p.describe(v).annotated(status, header, h, now)
}

// codes is the registry that p was loaded for; one made by hand has none.
func (p *Provider) codes() *Registry {
	if p.registry == nil {
		return Default()
	}
	return p.registry
}

// apply gives v the code of the first rule that applies, and keeps what is
// known beside it.
func (p *Provider) apply(v Verdict, status int, words []string) Verdict {
	for _, rule := range p.Rules {
		word, ok := rule.applies(v, status, words)
		if !ok {
			continue
		}
		next := p.codes().of(rule.Code)
		next.RetryAfter, next.Details, next.Page = v.RetryAfter, v.Details, v.Page
		if v.Scope != "" { // a rule knows what went wrong, not how far it got
			next.Scope = v.Scope
		}
		return next.with("provider_error", word)
	}
	return v
}

// applies reports whether r applies, and by which word.
func (r *Rule) applies(v Verdict, status int, words []string) (string, bool) {
	if len(r.Status) > 0 && !slices.Contains(r.Status, status) ||
		len(r.Codes) > 0 && !slices.Contains(r.Codes, v.Code) ||
		r.Scope != "" && r.Scope != v.Scope {
		return "", false
	}
	if len(r.Words) == 0 {
		return "", true
	}
	for _, word := range words {
		if slices.Contains(r.Words, word) {
			return word, true
		}
	}
	return "", false
}

// describe adds what spec 001 wants to know of an external service. A request
// that is wrong is wrong for every provider, so it has no fallback.
func (p *Provider) describe(v Verdict) Verdict {
	domain := p.codes().define(v.Code).Domain
	available := p.Fallback != "" && domain != "request" && domain != "data"
	v = v.with("provider", p.Name).with("fallback_available", available)
	if available {
		v = v.with("fallback_provider", p.Fallback)
	}
	return v
}

func (p *Provider) check(set Providers) error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("provider %q: %w", p.Name, fmt.Errorf(format, args...)))
	}
	if normalise(p.Name) != p.Name || p.Name == "" {
		wrong("the name must be in lower_snake_case")
	}
	if _, ok := set.byName[p.Fallback]; p.Fallback != "" && !ok || p.Fallback == p.Name && p.Name != "" {
		wrong("the fallback %q is no other provider", p.Fallback)
	}
	for i, r := range p.Rules {
		if err := r.check(p.codes()); err != nil {
			wrong("rule %d %w", i+1, err)
		}
	}
	return errors.Join(problems...)
}

// check returns the first thing that is wrong with r.
func (r *Rule) check(codes *Registry) error {
	if len(r.Status)+len(r.Words)+len(r.Codes) == 0 {
		return errors.New("applies to everything: name a status, a word or a code")
	}
	for _, code := range append([]recoup.Code{r.Code}, r.Codes...) {
		if def, ok := codes.Lookup(code); !ok || def.Code != code {
			return fmt.Errorf("names %q, which is not registered", code)
		}
	}
	for _, word := range r.Words {
		if word == "" || normalise(word) != word {
			return fmt.Errorf("has the word %q, which is not in lower_snake_case", word)
		}
	}
	return nil
}
