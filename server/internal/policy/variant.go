package policy

import (
	"maps"
	"slices"
	"strconv"
)

// Line returns the line of the policy file on which the value at a path stands,
// or 0 if it is not written.
func (p *Policy) Line(at ...string) int { return p.line(at) }

// With returns the policy as it would be if value stood at a path of its file;
// nil takes away what stands there. The variant is not checked: it answers
// "what if", and is not meant to govern anything. Mappings on the path that the
// file lacks are made; items of lists must be there.
func (p *Policy) With(value any, at ...string) *Policy {
	doc := &document{root: replace(p.doc.root, value, at), places: p.doc.places, keys: p.doc.keys}
	var f file
	if err := doc.decode(&f); err != nil {
		panic("policy: a variant cannot be read: " + err.Error())
	}
	f.namedHubs()
	return compile(doc, &f)
}

// replace returns a copy of a document's value that differs at one path; what
// lies beside the path is shared.
func replace(in, value any, at []string) any {
	if len(at) == 0 {
		return value
	}
	switch in := in.(type) {
	case nil:
		return replace(map[string]any{}, value, at)
	case map[string]any:
		out := maps.Clone(in)
		out[at[0]] = replace(in[at[0]], value, at[1:])
		if out[at[0]] == nil {
			delete(out, at[0])
		}
		return out
	case []any:
		i, _ := strconv.Atoi(at[0])
		out := slices.Clone(in)
		out[i] = replace(in[i], value, at[1:])
		if out[i] == nil {
			out = slices.Delete(out, i, i+1)
		}
		return out
	}
	return in
}
