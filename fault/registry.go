// Package fault is the error contract: the shape of an error on the wire, the
// registry of codes, the classification of Go errors and HTTP responses, and the
// HTTP middleware that puts the three together (spec 001).
//
// It stores nothing and retries nothing; package retry does the waiting.
package fault

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/recoup-dev/recoup"
)

//go:generate go run github.com/recoup-dev/recoup/server/cmd/recoup codes export --format go --output code_gen.go

//go:embed registry.json
var registryJSON []byte

var defaultRegistry = sync.OnceValue(func() *Registry {
	r, err := Load(registryJSON)
	if err != nil {
		panic("fault: the embedded registry is broken: " + err.Error())
	}
	return r
})

// Registry is a checked set of definitions. It is immutable and safe for
// concurrent use; so are the definitions it hands out, which must not be
// changed.
type Registry struct {
	names        map[recoup.Code]*Definition // canonical names and aliases
	all          []*Definition               // sorted by code
	unregistered *Definition
	internal     *Definition
}

// Default returns the registry that Recoup ships: every code that the
// specifications name, and those that Recoup itself needs.
func Default() *Registry { return defaultRegistry() }

// Load reads a registry from JSON: a list of definitions. All that is wrong
// with it is reported at once. Two codes must be there, because everything
// unknown ends in them: UNREGISTERED_CODE and INTERNAL_ERROR.
func Load(data []byte) (*Registry, error) {
	var defs []Definition
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&defs); err != nil {
		return nil, fmt.Errorf("read registry: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read registry: something follows the list of definitions")
	}
	return newRegistry(defs)
}

// Replace is [Registry.With] for codes that may be registered already, whose
// definitions it replaces. The codes that ship with Recoup cannot be replaced.
func (r *Registry) Replace(defs ...Definition) (*Registry, error) {
	rest := slices.DeleteFunc(r.All(), func(d *Definition) bool {
		_, shipped := Default().names[d.Code]
		return !shipped && slices.ContainsFunc(defs, func(own Definition) bool { return own.Code == d.Code })
	})
	return (&Registry{all: rest}).With(defs...)
}

// With returns a registry that also holds a program's own codes, of which it
// keeps copies. A code or alias that is already taken is an error: a shared code means one thing.
func (r *Registry) With(defs ...Definition) (*Registry, error) {
	all := make([]Definition, 0, len(r.all)+len(defs))
	for _, d := range r.all {
		all = append(all, *d)
	}
	return newRegistry(append(all, defs...))
}

// WithRetries returns a registry whose retryable codes have other retries: their row, else their
// own, else the fallback.
func (r *Registry) WithRetries(fallback RetryPolicy, rows map[recoup.Code]RetryPolicy) *Registry {
	next := &Registry{names: make(map[recoup.Code]*Definition, len(r.names))}
	for _, d := range r.all {
		def := d.clone()
		if row, ok := rows[def.Code]; ok && def.Class != recoup.ClassFatal {
			def.Retry = &row
		} else if def.Retry == nil && def.Class != recoup.ClassFatal && fallback != DefaultRetryPolicy() {
			def.Retry = &fallback
		}
		next.all = append(next.all, def)
		for _, name := range append([]recoup.Code{def.Code}, def.Aliases...) {
			next.names[name] = def
		}
	}
	next.unregistered, next.internal = next.names[r.unregistered.Code], next.names[r.internal.Code]
	return next
}

// Lookup returns the definition of a canonical code or of an alias.
func (r *Registry) Lookup(code recoup.Code) (*Definition, bool) {
	def, ok := r.names[code]
	return def, ok
}

// Fold reads a code as people and other systems write it: in either case, by
// its own name or by an alias. A well-formed name that nobody registered gives
// the definition of UNREGISTERED_CODE and the folded name; only text that
// cannot be a code is an error.
func (r *Registry) Fold(s string) (*Definition, recoup.Code, error) {
	name, err := recoup.ParseCode(s)
	if err != nil {
		return nil, "", err
	}
	if def, ok := r.names[name]; ok {
		return def, def.Code, nil
	}
	return r.unregistered, name, nil
}

// All returns every definition, sorted by code.
func (r *Registry) All() []*Definition { return slices.Clone(r.all) }

// define returns the definition of a code: the registry's own, else the one
// that Recoup ships, because a small registry need not repeat what the
// classifier answers with, else that of UNREGISTERED_CODE.
func (r *Registry) define(code recoup.Code) *Definition {
	if def, ok := r.names[code]; ok {
		return def
	}
	if def, ok := Default().names[code]; ok {
		return def
	}
	return r.unregistered
}

func newRegistry(defs []Definition) (*Registry, error) {
	r := &Registry{names: make(map[recoup.Code]*Definition, len(defs))}
	var problems []error
	for i := range defs {
		d := defs[i].clone()
		problems = append(problems, d.check()...)
		r.all = append(r.all, d)
		for _, name := range append([]recoup.Code{d.Code}, d.Aliases...) {
			if other, taken := r.names[name]; taken {
				problems = append(problems, fmt.Errorf("%s: the name %s is already taken by %s", d.Code, name, other.Code))
				continue
			}
			r.names[name] = d
		}
	}
	problems = append(problems, r.checkRelated()...)
	r.unregistered, r.internal = r.names[CodeUnregisteredCode], r.names[CodeInternalError]
	for _, code := range []recoup.Code{CodeUnregisteredCode, CodeInternalError} {
		if r.names[code] == nil {
			problems = append(problems, fmt.Errorf("%s is missing: every registry needs it", code))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("registry: %w", errors.Join(problems...))
	}
	slices.SortFunc(r.all, func(a, b *Definition) int { return strings.Compare(string(a.Code), string(b.Code)) })
	return r, nil
}

func (r *Registry) checkRelated() []error {
	var problems []error
	for _, d := range r.all {
		for _, code := range d.Related {
			switch other := r.names[code]; {
			case other == nil:
				problems = append(problems, fmt.Errorf("%s: the related code %s is not registered", d.Code, code))
			case other.Code != code:
				problems = append(problems, fmt.Errorf("%s: the related code %s is an alias: write %s", d.Code, code, other.Code))
			case code == d.Code:
				problems = append(problems, fmt.Errorf("%s: a code is not related to itself", d.Code))
			}
		}
	}
	return problems
}
