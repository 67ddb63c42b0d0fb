package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Set groups the routes of one service with their documentation.
type Set struct {
	Areas  []Area
	Routes []*Route

	// After is the name of the route that these follow in the document, a route of a set before
	// this one; empty: they come last.
	After string

	// Answers are example answers as JSON, by the name of the route: {"GET /v1/codes": {…}}.
	// Routes without one have no example.
	Answers []byte
}

// Area is a section of the reference: the tag of its routes.
type Area struct{ Name, Description string }

// Info describes the API as a whole.
type Info struct{ Title, Version, Description string }

// Document makes the OpenAPI 3.1 document of sets of routes from the Go types that
// they take and return. Areas have the order of the sets, and so have routes, unless a set says what
// its own follow.
func Document(about Info, sets ...Set) ([]byte, error) {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	doc := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: about.Title, Version: about.Version, Description: about.Description},
		Servers:    []*huma.Server{{URL: "/", Description: "The node that serves this document"}},
		Extensions: map[string]any{"x-errors": byStatus(commonCodes())},
		Components: &huma.Components{
			Schemas:         registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", BearerFormat: keyFormat}},
		},
	}
	registry.RegisterTypeAlias(reflect.TypeFor[fault.Error](), reflect.TypeFor[Failure]())
	registry.RegisterTypeAlias(reflect.TypeFor[recoup.JSON](), reflect.TypeFor[json.RawMessage]())
	answers := map[string]json.RawMessage{}
	for _, s := range sets {
		for _, a := range s.Areas {
			doc.Tags = append(doc.Tags, &huma.Tag{Name: a.Name, Description: a.Description})
		}
		if s.Answers == nil {
			continue
		}
		if err := json.Unmarshal(s.Answers, &answers); err != nil {
			return nil, fmt.Errorf("the example answers: %w", err)
		}
	}
	routes, err := InOrder(sets)
	if err != nil {
		return nil, err
	}
	for position, rt := range routes {
		op := rt.describe(registry, rt.doc, answers[rt.name()])
		op.Extensions["x-position"] = position // paths have no order of their own
		doc.AddOperation(op)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document: %w", err)
	}
	return b, nil
}

// InOrder returns the routes of sets in the order of the document.
func InOrder(sets []Set) (list []*Route, err error) {
	for _, s := range sets {
		at := len(list)
		if s.After != "" {
			at = slices.IndexFunc(list, func(r *Route) bool { return r.name() == s.After }) + 1
		}
		if at == 0 && s.After != "" {
			return nil, fmt.Errorf("the OpenAPI document: routes follow %s, which is no route of a set before them", s.After)
		}
		list = slices.Insert(list, at, s.Routes...)
	}
	return list, nil
}

// schemaName names a type by its own name, a generic one by its parts. A schema keeps its name
// when its Go type is renamed.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if published, ok := schemaNames[name]; ok {
		return published
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// name is the route's pattern: its method and path.
func (r *Route) name() string { return r.Info.Method + " " + r.Info.Path }

// describe documents a route: what its types say, what its manual adds, and an answer as
// a node gave it.
func (r *Route) describe(registry huma.Registry, m Doc, answer json.RawMessage) *huma.Operation {
	op := &huma.Operation{
		Method: r.Info.Method, Path: r.Info.Path, Summary: r.Info.Summary, Description: m.About, Tags: []string{r.Info.Tag},
		OperationID: operationID(r), Responses: map[string]*huma.Response{},
		Extensions: map[string]any{"x-errors": byStatus(r.codes(m))},
	}
	if !r.open() {
		op.Security = []map[string][]string{{"key": {}}}
		op.Extensions["x-roles"] = r.permitted()
	}
	r.describeInput(op, registry, r.Info.In)
	m.illustrate(op)
	if op.RequestBody != nil {
		op.Extensions["x-max-body-bytes"] = r.maxBody
	}
	content := &huma.MediaType{Schema: r.describeAnswer(registry)}
	if answer != nil {
		content.Example = answer
	}
	op.Responses[strconv.Itoa(r.Info.Status)] = &huma.Response{Description: http.StatusText(r.Info.Status), Content: map[string]*huma.MediaType{fault.MediaJSON: content}}
	op.Responses["default"] = describeFailure(registry)
	return op
}

// describeAnswer documents what a route answers when it succeeds. What answers a write
// has the id of the request beside its own members: a schema of its own, because the
// same type is without it where it is read.
func (r *Route) describeAnswer(registry huma.Registry) *huma.Schema {
	read := registry.Schema(r.Info.Out, true, "")
	own := registry.SchemaFromRef(read.Ref)
	if !r.writes() || own == nil {
		return read
	}
	named := *own
	named.Properties = maps.Clone(own.Properties)
	if named.Properties == nil {
		named.Properties = map[string]*huma.Schema{}
	}
	named.Properties["request_id"] = &huma.Schema{Type: huma.TypeString, Description: "names the request in logs, as the header X-Request-Id does"}
	named.Required = append(slices.Clone(own.Required), "request_id")
	registry.Map()[path.Base(read.Ref)+"Answer"] = &named
	return &huma.Schema{Ref: read.Ref + "Answer"}
}

// describeFailure documents what every route answers when it fails, in either of
// the two forms.
func describeFailure(registry huma.Registry) *huma.Response {
	form := func(t reflect.Type) *huma.MediaType { return &huma.MediaType{Schema: registry.Schema(t, true, "")} }
	return &huma.Response{
		Description: "A failure: error_code says which, /errors/{code} what to do about it",
		Content: map[string]*huma.MediaType{
			fault.MediaJSON: form(reflect.TypeFor[Failure]()), fault.MediaProblem: form(reflect.TypeFor[Problem]()),
		},
	}
}

func operationID(r *Route) string {
	words := strings.FieldsFunc(strings.TrimPrefix(r.Info.Path, "/v1"), func(c rune) bool { return c == '/' || c == '{' || c == '}' || c == '-' })
	return strings.ToLower(r.Info.Method) + "-" + strings.Join(words, "-")
}

// describeInput documents parameters and body.
func (r *Route) describeInput(op *huma.Operation, registry huma.Registry, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		path, query, header := f.Tag.Get("path"), f.Tag.Get("query"), f.Tag.Get("header")
		switch {
		case header != "":
			op.Parameters = append(op.Parameters, &huma.Param{Name: header, In: "header", Description: f.Tag.Get("doc"),
				Schema: &huma.Schema{Type: huma.TypeString}})
		case path != "":
			op.Parameters = append(op.Parameters, &huma.Param{Name: path, In: "path", Description: f.Tag.Get("doc"), Required: true, Schema: huma.SchemaFromField(registry, f, "")})
		case query != "":
			op.Parameters = append(op.Parameters, &huma.Param{Name: query, In: "query", Description: f.Tag.Get("doc"),
				Required: f.Tag.Get("required") == "true", Schema: huma.SchemaFromField(registry, f, "")})
		case f.Name == "Body":
			op.RequestBody = r.describeBody(registry, f.Type)
			if r.Info.Repeat == RepeatKeyed {
				op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header",
					Description: "one of your own, of up to 200 printable ASCII characters; for 24 hours the same request with the same key is carried out once, and another request with it is refused", Schema: &huma.Schema{Type: huma.TypeString}})
			}
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			r.describeInput(op, registry, f.Type)
		}
	}
}

// describeBody documents a body.
func (r *Route) describeBody(registry huma.Registry, t reflect.Type) *huma.RequestBody {
	schema := registry.Schema(t, true, operationID(r)+"-request")
	if len(r.required) > 0 {
		schema = &huma.Schema{AllOf: []*huma.Schema{schema, {Required: r.required}}}
	}
	body := &huma.RequestBody{Required: !r.mayLack, Content: map[string]*huma.MediaType{fault.MediaJSON: {Schema: schema}}}
	if r.forms != nil {
		body.Content = r.forms(registry, schema)
	}
	return body
}

// Failure is the contract of spec 001 as JSON has it.
type Failure struct {
	Code             string         `json:"error_code" pattern:"^[A-Z][A-Z0-9_]{0,63}$" doc:"a registered code"`
	Message          string         `json:"message" doc:"for people"`
	RequestID        string         `json:"request_id" doc:"names the request in logs"`
	Details          map[string]any `json:"details,omitempty" doc:"more, by code: of a VALIDATION_ERROR, errors with each field that is wrong"`
	Timestamp        time.Time      `json:"timestamp,omitzero" doc:"when it was answered"`
	RetryAfter       int            `json:"retry_after,omitempty" minimum:"1" doc:"seconds"`
	DocumentationURL string         `json:"documentation_url,omitempty" doc:"what the code means and what to do about it"`
}

// Problem is the same as RFC 9457 has it.
type Problem struct {
	Type     string `json:"type" doc:"the page of the code"`
	Title    string `json:"title" doc:"the code in words"`
	Status   int    `json:"status" doc:"the HTTP status"`
	Detail   string `json:"detail,omitempty" doc:"the message"`
	Instance string `json:"instance,omitempty" doc:"names the request"`
	Failure
}
