package reference

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// openAPI is the part of an OpenAPI document that pages show.
type openAPI struct {
	Info       struct{ Version string }
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
	Common     map[string][]string `json:"x-errors"`
}

type operation struct {
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Tags        []string
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]struct {
		Description string
		Content     map[string]media
	}
	Roles    []string            `json:"x-roles"`
	Errors   map[string][]string `json:"x-errors"`
	Position int                 `json:"x-position"`
	MaxBody  int64               `json:"x-max-body-bytes"`
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
	Example               any
}

type media struct {
	Schema  *schema
	Example json.RawMessage
}

// schema is the part of JSON Schema that the document uses.
type schema struct {
	Ref              string `json:"$ref"`
	Type             types
	Format           string
	ContentEncoding  string
	Description      string
	Pattern          string
	Enum             []any
	Default          any
	Items            *schema
	Properties       map[string]*schema
	Required         []string
	Others           json.RawMessage `json:"additionalProperties"`
	AllOf, OneOf     []*schema
	Minimum, Maximum *float64
	MaxLength        *int
	MinItems         *int
	MaxItems         *int
}

// types is one type, or several.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(t))
	}
	*t = make(types, 1)
	return json.Unmarshal(b, &(*t)[0])
}

// name is that of a component; empty: the schema stands where it is used.
func (s *schema) name() string {
	if s.Ref == "" {
		return ""
	}
	return path.Base(s.Ref)
}

// resolve follows a reference, and adds to a schema what else is demanded of it.
func (d *openAPI) resolve(s *schema) *schema {
	for s.Ref != "" {
		s = d.Components.Schemas[s.name()]
	}
	if len(s.AllOf) == 0 {
		return s
	}
	whole := *d.resolve(s.AllOf[0])
	for _, more := range s.AllOf[1:] {
		whole.Required = append(slices.Clone(whole.Required), more.Required...)
	}
	return &whole
}

// Code is an error code that an operation may be answered, with its HTTP status.
type Code struct {
	Status int
	Name   string
}

func codesOf(byStatus map[string][]string) (list []Code) {
	for status, names := range byStatus {
		n, _ := strconv.Atoi(status) // what is no status sorts first, and a test finds it
		for _, name := range names {
			list = append(list, Code{n, name})
		}
	}
	slices.SortFunc(list, func(a, b Code) int { return cmp.Or(a.Status-b.Status, strings.Compare(a.Name, b.Name)) })
	return list
}

// members are the names of an object's members: what must be there first, then by name.
func (s *schema) members() []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	slices.SortStableFunc(names, func(a, b string) int { return s.rank(a) - s.rank(b) })
	return names
}

func (s *schema) rank(member string) int {
	if slices.Contains(s.Required, member) {
		return 0
	}
	return 1
}
