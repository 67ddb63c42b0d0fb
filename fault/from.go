package fault

import (
	"maps"

	"github.com/recoup-dev/recoup"
)

// From returns err as an [*Error], with the code that [Classify] gives it and err as
// its cause, so that [Write] sends more than INTERNAL_ERROR. It keeps the message of
// an [*Error] in err's chain; else the message is the code's description. nil is nil.
//
// A caller that returns the result as an error must compare it with nil first.
func From(err error) *Error { return Default().From(err) }

// From is [From] for programs with codes of their own.
func (r *Registry) From(err error) *Error {
	if err == nil {
		return nil
	}
	f := r.facts(err)
	if f.speaks() {
		return contract(r, err)
	}
	v := f.verdict()
	return contract(r, v.Wrap(err, "%s", r.define(v.Code).Description))
}

// verdict is the verdict of e's own code. The text of an error that another service
// sent is not copied, and nobody is paged for it.
func (e *Error) verdict(r *Registry) Verdict {
	v := e.ofCode(r)
	v.RetryAfter = e.RetryAfter
	if !e.foreign {
		v.Details = maps.Clone(e.Details)
		return v
	}
	v.Page = false
	if e.Status != 0 {
		v = v.with("upstream_status", e.Status)
	}
	return v
}

// ofCode is the verdict of the definition that e came with, else of its code in r.
func (e *Error) ofCode(r *Registry) Verdict {
	if e.def != nil {
		v := ofDefinition(e.def)
		v.Code = e.Code
		return v
	}
	name, err := recoup.ParseCode(string(e.Code))
	if err != nil {
		name = e.Code
	}
	v := r.of(name)
	if v.Code == CodeUnregisteredCode {
		v.Code = name
	}
	return v
}
