package policy

import (
	"bytes"
	_ "embed" // schema.json
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed schema.json
var schemaFile []byte

// Schema returns the JSON schema of the policy file, for editors.
func Schema() []byte { return bytes.Clone(schemaFile) }

// schema is the compiled schema, and its text, from which problems take what
// was expected: titles are written as the end of "expected …".
type schema struct {
	compiled *jsonschema.Schema
	text     any
}

var loadSchema = sync.OnceValue(func() schema {
	const name = "schema.json"
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaFile))
	if err != nil {
		panic("policy: the embedded schema is broken: " + err.Error())
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, text); err != nil {
		panic("policy: the embedded schema is broken: " + err.Error())
	}
	return schema{c.MustCompile(name), text}
})

// checkStructure holds the document against the schema. Values that do not fit
// are cleared, so that what is left can be decoded and checked further.
func (d *document) checkStructure() problems {
	s := loadSchema()
	var invalid *jsonschema.ValidationError
	if !errors.As(s.compiled.Validate(d.root), &invalid) {
		return nil
	}
	c := structure{schema: s, doc: d}
	c.walk(invalid)
	return c.problems
}

// structure turns the validator's errors into problems.
type structure struct {
	schema   schema
	doc      *document
	problems problems
}

func (c *structure) walk(e *jsonschema.ValidationError) {
	at := pointer(e.InstanceLocation...)
	place := c.doc.places[at]
	rule := c.schema.rule(e.SchemaURL)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, key := range k.Properties {
			c.unknownKey(e.InstanceLocation, key, rule)
		}
	case *kind.Required:
		for _, key := range k.Missing {
			c.problems.add(place.key, "%s has no %s, expected %s", label(e.InstanceLocation), key, c.schema.expectedAt(rule, key))
		}
	case *kind.PropertyNames:
		at := named(e.SchemaURL) + pointer(k.Property)
		c.problems.add(c.doc.places[at].key, "%q is no name for this, expected %s", k.Property, c.schema.expected(rule))
	case *kind.UniqueItems:
		for _, again := range k.Duplicates[1:] {
			here := path(e.InstanceLocation, strconv.Itoa(again))
			c.problems.add(c.doc.at(here...), "%s repeats item %d, expected %s", label(here), k.Duplicates[0]+1, c.schema.expected(rule))
		}
	case *kind.Enum:
		c.problems.add(place.value, "%s is %s, expected %s%s", label(e.InstanceLocation), show(k.Got), alternatives(words(k.Want)), hint(fmt.Sprint(k.Got), words(k.Want)))
		c.doc.clear(e.InstanceLocation)
	default:
		if len(e.Causes) == 0 {
			c.problems.add(place.value, "%s is %s, expected %s", label(e.InstanceLocation), show(c.doc.lookup(e.InstanceLocation)), c.schema.expected(rule))
			c.doc.clear(e.InstanceLocation)
		}
		for _, cause := range e.Causes {
			c.walk(cause)
		}
	}
}

func (c *structure) unknownKey(parent []string, key string, rule map[string]any) {
	properties, _ := rule["properties"].(map[string]any)
	known := slices.Sorted(maps.Keys(properties))
	wanted := meant(key, known)
	if wanted == "" {
		wanted = alternatives(known)
	}
	c.problems.add(c.doc.places[pointer(path(parent, key)...)].key, "unknown key %s, expected %s", key, wanted)
	c.doc.remove(parent, key)
}

// rule finds the part of the schema that an error's address points to.
func (s schema) rule(url string) map[string]any {
	_, fragment, _ := strings.Cut(url, "#")
	at := s.text
	for _, step := range strings.Split(fragment, "/")[1:] {
		m, _ := at.(map[string]any)
		at = m[step]
	}
	m, _ := at.(map[string]any)
	return m
}

// named returns the pointer of the mapping whose names a rule is about. The
// validator's own location cannot be used: for names it is overwritten later.
// Mappings with free names stand at fixed places, so the rule's address identifies them.
func named(url string) string {
	_, fragment, _ := strings.Cut(url, "#")
	return strings.ReplaceAll(strings.TrimSuffix(fragment, "/propertyNames"), "/properties/", "/")
}

// expectedAt says what is expected under a key of an object.
func (s schema) expectedAt(object map[string]any, key string) string {
	properties, _ := object["properties"].(map[string]any)
	property, _ := properties[key].(map[string]any)
	if property == nil {
		property, _ = object["additionalProperties"].(map[string]any)
	}
	return s.expected(property)
}

// expected says what a rule wants: one of its words, or its title.
func (s schema) expected(rule map[string]any) string {
	if ref, ok := rule["$ref"].(string); ok {
		rule = s.rule(ref)
	}
	if list, ok := rule["enum"].([]any); ok {
		return alternatives(words(list))
	}
	return fmt.Sprint(rule["title"])
}

// label names a value for a person: its key, or its number in a list.
func label(location []string) string {
	if len(location) == 0 {
		return "the policy"
	}
	last := location[len(location)-1]
	n, err := strconv.Atoi(last)
	if err != nil || len(location) == 1 {
		return last
	}
	return fmt.Sprintf("item %d of %s", n+1, location[len(location)-2])
}

// show writes a value as a problem names it.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "empty"
	case map[string]any:
		return "a mapping"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case string:
		return fmt.Sprintf("%.80q", v)
	}
	return fmt.Sprint(v)
}

func words(list []any) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = fmt.Sprint(w)
	}
	return out
}

// lookup returns the value at a location of the document.
func (d *document) lookup(location []string) any {
	at := d.root
	for _, step := range location {
		switch parent := at.(type) {
		case map[string]any:
			at = parent[step]
		case []any:
			i, _ := strconv.Atoi(step)
			at = parent[i]
		}
	}
	return at
}

// clear empties the value at a location: it then counts as not given.
func (d *document) clear(location []string) {
	if len(location) == 0 {
		d.root = nil
		return
	}
	last := location[len(location)-1]
	switch parent := d.lookup(location[:len(location)-1]).(type) {
	case map[string]any:
		parent[last] = nil
	case []any:
		i, _ := strconv.Atoi(last)
		parent[i] = nil
	}
}

// remove takes a key out of the mapping at a location. The JSON decoder, which
// cares less for upper and lower case than the schema does, must not see it.
func (d *document) remove(location []string, key string) {
	if m, ok := d.lookup(location).(map[string]any); ok {
		delete(m, key)
	}
}
