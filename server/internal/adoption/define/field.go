package define

import (
	"regexp"
	"strings"
)

// A field is a column, or a place in a column of JSON: args->>'company_id', and
// errors[last]->>'error' of an array of JSON.
var (
	place = regexp.MustCompile(`^([^\[\]>']+?)(\[last\])?\s*((?:->\s*'(?:[^']|'')*'\s*)*)->>\s*('(?:[^']|'')*')$`)
	step  = regexp.MustCompile(`->\s*('(?:[^']|'')*')`)
)

// field finds a field by what it is called. What is at a place in JSON is text, and to
// ask for it fails on no row.
func (s *Source) field(name string) (Column, bool) {
	if c, ok := s.Column(name); ok {
		return c, true
	}
	parts := place.FindStringSubmatch(strings.TrimSpace(name))
	if parts == nil || strings.Contains(name, `\`) {
		return Column{}, false
	}
	c, ok := s.Column(strings.Trim(strings.TrimSpace(parts[1]), `"`))
	base, isArray := strings.CutSuffix(c.Base, "[]")
	last := parts[2] != ""
	if !ok || base != typeJSON && base != typeJSONB || isArray != last {
		return Column{}, false
	}
	for _, key := range step.FindAllStringSubmatch(parts[3], -1) {
		c.path += " -> " + key[1]
	}
	c.path += " ->> " + parts[4]
	c.last, c.Base, c.Kind, c.Category = last, "text", "b", "S"
	return c, true
}

// in is the column, or the place in it, of a row.
func (c Column) in(row string) string {
	name := row + "." + quote(c.Name)
	if c.last {
		return name + "[cardinality(" + name + ")]" + c.path
	}
	return name + c.path
}
