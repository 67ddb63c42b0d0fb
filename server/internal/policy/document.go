package policy

import (
	"strings"

	"github.com/goccy/go-yaml/parser"
)

// Bounds of a policy file, several times what the default policy needs. The
// parser's time and memory grow with the square of tokens and depth, so both
// are checked before it starts.
const (
	maxSize   = 256 << 10
	maxTokens = 20_000
	maxDepth  = 12
)

// position is a place in the file, counted from 1.
type position struct{ line, column int }

var start = position{1, 1}

// place is where a value stands, and where its key does.
type place struct{ key, value position }

// document is a YAML file as plain data, which remembers for every value where
// it was written. Values are found by JSON pointer: /tables/outreach.dol_errors.
type document struct {
	root   any // map[string]any, []any, string, json.Number, bool or nil
	places map[string]place
	keys   map[string][]string // of every mapping, in the order of the file
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// pointer joins names into a JSON pointer.
func pointer(steps ...string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteByte('/')
		b.WriteString(escapePointer.Replace(s))
	}
	return b.String()
}

// readDocument parses data. The root is nil if the file could not be read whole. It refuses what makes a policy hard to read or to
// trust: anchors, aliases, merge keys, tags, keys given twice, more than one
// document, and more than a policy can need.
func readDocument(data []byte) (*document, problems) {
	r := reader{doc: &document{places: map[string]place{}, keys: map[string][]string{}}}
	tokens := r.tokens(data)
	if len(r.problems) > 0 {
		return r.doc, r.problems
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return r.doc, r.problems
	}
	if len(file.Docs) > 1 {
		r.problems.add(positionOf(file.Docs[1].Start), "a second document begins here, expected one policy in the file")
		return r.doc, r.problems
	}
	if len(file.Docs) > 0 && file.Docs[0].Body != nil {
		r.doc.places[""] = place{start, start}
		r.doc.root = r.value(file.Docs[0].Body, "", 1)
	}
	if r.doc.root == nil {
		r.problems.add(start, "the file is empty, expected a policy")
	}
	if r.cut {
		r.doc.root = nil
	}
	return r.doc, r.problems
}
