package policy

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// reader turns YAML into a document and notes what it does not accept.
type reader struct {
	doc      *document
	problems problems
	cut      bool // part of the file was not read: further checks would mislead
}

// refused are the features of YAML that a policy has to do without: whoever
// reads a line must be able to trust that it says all there is.
var refused = map[token.Type]string{
	token.AnchorType:     "an anchor (&)",
	token.AliasType:      "an alias (*)",
	token.MergeKeyType:   "a merge key (<<)",
	token.TagType:        "a tag (!)",
	token.MappingKeyType: "an explicit key (?)",
	token.DirectiveType:  "a directive (%)",
}

// byteOrderMark is what some editors put before a text; it is no part of it.
const byteOrderMark = "\ufeff"

// tokens splits data and checks the bounds that protect the parser.
func (r *reader) tokens(data []byte) token.Tokens {
	if len(data) > maxSize {
		r.problems.add(start, "the file has %d bytes, expected at most %d", len(data), maxSize)
		return nil
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), byteOrderMark))
	if len(tokens) > maxTokens {
		r.problems.add(positionOf(tokens[maxTokens]), "the file goes on after %d words and marks, expected fewer", maxTokens)
		return nil
	}
	flow, dashes := 0, 0
	for _, t := range tokens {
		if what, no := refused[t.Type]; no {
			r.problems.add(positionOf(t), "%s is not accepted in a policy, expected the value written out", what)
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		if dashes++; t.Type != token.SequenceEntryType {
			dashes = 0
		}
		if flow > maxDepth || dashes > maxDepth {
			r.deep(positionOf(t))
			break
		}
	}
	return tokens
}

func (r *reader) deep(at position) {
	r.cut = true
	r.problems.add(at, "nested too deeply, expected at most %d levels", maxDepth)
}

// syntax notes what the parser could not read.
func (r *reader) syntax(err error) {
	var where yaml.Error
	if errors.As(err, &where) && where.GetToken() != nil {
		r.problems.add(positionOf(where.GetToken()), "not readable as YAML: %s, expected key: value lines", where.GetMessage())
		return
	}
	r.problems.add(start, "not readable as YAML: %v", err)
}

// value converts the node at the pointer ptr.
func (r *reader) value(n ast.Node, ptr string, depth int) any {
	if depth > maxDepth {
		r.deep(positionOf(n.GetToken()))
		return nil
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n.Values, ptr, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{n}, ptr, depth)
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			child := ptr + "/" + strconv.Itoa(i)
			at := positionOf(firstToken(item))
			r.doc.places[child] = place{at, at}
			list[i] = r.value(item, child, depth+1)
		}
		return list
	}
	v := scalar(n)
	if s, ok := v.(string); ok && strings.ContainsFunc(s, isControl) {
		r.problems.add(positionOf(n.GetToken()), "the text has a control character, expected letters, digits and marks")
	}
	return v
}

// isControl reports whether a character steers a terminal or ends a text in a database.
func isControl(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }

func (r *reader) mapping(pairs []*ast.MappingValueNode, ptr string, depth int) any {
	m := make(map[string]any, len(pairs))
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		at := positionOf(pair.Key.GetToken())
		if strings.ContainsFunc(key, isControl) {
			r.problems.add(at, "the key has a control character, expected letters, digits and marks")
		}
		child := ptr + pointer(key)
		if before, again := r.doc.places[child]; again {
			r.problems.add(at, "%s is given twice, expected it only on line %d", key, before.key.line)
			continue
		}
		r.doc.places[child] = place{at, positionOf(firstToken(pair.Value))}
		r.doc.keys[ptr] = append(r.doc.keys[ptr], key)
		m[key] = r.value(pair.Value, child, depth+1)
	}
	return m
}

// scalar returns a node without children as JSON would hold it.
func scalar(n ast.Node) any {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value)
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		if v, ok := n.Value.(int64); ok {
			return json.Number(strconv.FormatInt(v, 10))
		}
		if v, ok := n.Value.(uint64); ok {
			return json.Number(strconv.FormatUint(v, 10))
		}
	case *ast.FloatNode:
		if text := n.GetToken().Value; json.Valid([]byte(text)) {
			return json.Number(text)
		}
		if !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value) {
			return json.Number(strconv.FormatFloat(n.Value, 'g', -1, 64))
		}
	case *ast.NullNode:
		return nil
	}
	return n.GetToken().Value
}

// firstToken returns where a node begins. A block mapping's own token is the
// colon after its first key.
func firstToken(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return start
	}
	return position{t.Position.Line, t.Position.Column}
}
