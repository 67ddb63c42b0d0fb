package api

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
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// Document makes the OpenAPI 3.1 document from the routes and the Go types they
// take and return.
func Document(version string) ([]byte, error) {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Recoup", Version: version,
			Description: "Failed work is recorded once, classified, retried by policy, parked for people, escalated, replayed, recovered and archived.",
		},
		Servers:    []*huma.Server{{URL: "/", Description: "The node that serves this document"}},
		Tags:       areas(),
		Extensions: map[string]any{"x-errors": byStatus(commonCodes())},
		Components: &huma.Components{
			Schemas:         registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", BearerFormat: keyFormat}},
		},
	}
	registry.RegisterTypeAlias(reflect.TypeFor[fault.Error](), reflect.TypeFor[Failure]())
	registry.RegisterTypeAlias(reflect.TypeFor[recoup.JSON](), reflect.TypeFor[json.RawMessage]())
	about, answers := manuals(), exampleAnswers()
	for i, rt := range routes() {
		op := rt.describe(registry, about[rt.name()], answers[rt.name()])
		op.Extensions["x-position"] = i // paths have no order of their own
		doc.AddOperation(op)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document: %w", err)
	}
	return b, nil
}

// schemaName names a type by its own name, a generic one by its parts.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return strings.ToUpper(name[:1]) + name[1:]
}

// name is the route's pattern: its method and path.
func (r *route) name() string { return r.method + " " + r.path }

// describe documents a route: what its types say, what its manual adds, and an answer as
// a node gave it.
func (r *route) describe(registry huma.Registry, m routeDoc, answer json.RawMessage) *huma.Operation {
	op := &huma.Operation{
		Method: r.method, Path: r.path, Summary: r.summary, Description: m.about, Tags: []string{r.tag},
		OperationID: operationID(r), Responses: map[string]*huma.Response{},
		Extensions: map[string]any{"x-errors": byStatus(r.codes(m))},
	}
	if !r.open() {
		op.Security = []map[string][]string{{"key": {}}}
		op.Extensions["x-roles"] = r.permitted()
	}
	r.describeInput(op, registry, r.in)
	m.illustrate(op)
	if op.RequestBody != nil {
		op.Extensions["x-max-body-bytes"] = r.maxBody
	}
	content := &huma.MediaType{Schema: r.describeAnswer(registry)}
	if answer != nil {
		content.Example = answer
	}
	op.Responses[strconv.Itoa(r.status)] = &huma.Response{Description: http.StatusText(r.status), Content: map[string]*huma.MediaType{fault.MediaJSON: content}}
	op.Responses["default"] = describeFailure(registry)
	return op
}

// describeAnswer documents what a route answers when it succeeds. What answers a write
// has the id of the request beside its own members: a schema of its own, because the
// same type is without it where it is read.
func (r *route) describeAnswer(registry huma.Registry) *huma.Schema {
	read := registry.Schema(r.out, true, "")
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

func operationID(r *route) string {
	words := strings.FieldsFunc(strings.TrimPrefix(r.path, "/v1"), func(c rune) bool { return c == '/' || c == '{' || c == '}' || c == '-' })
	return strings.ToLower(r.method) + "-" + strings.Join(words, "-")
}

// describeInput documents parameters and body.
func (r *route) describeInput(op *huma.Operation, registry huma.Registry, t reflect.Type) {
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
			if r.repeat == keyed {
				op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header",
					Description: "one of your own, of up to 200 printable ASCII characters; for 24 hours the same request with the same key is carried out once, and another request with it is refused", Schema: &huma.Schema{Type: huma.TypeString}})
			}
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			r.describeInput(op, registry, f.Type)
		}
	}
}

// describeBody documents a body.
func (r *route) describeBody(registry huma.Registry, t reflect.Type) *huma.RequestBody {
	schema := registry.Schema(t, true, operationID(r)+"-request")
	if len(r.required) > 0 {
		schema = &huma.Schema{AllOf: []*huma.Schema{schema, {Required: r.required}}}
	}
	body := &huma.RequestBody{Required: !r.mayLack, Content: map[string]*huma.MediaType{fault.MediaJSON: {Schema: schema}}}
	if t == reflect.TypeFor[client.EventBatch]() {
		body.Content = describeEvents(registry)
	}
	if t == reflect.TypeFor[client.IntakeImport]() {
		body.Content = describeIntakes(registry, schema)
	}
	return body
}

// describeEvents documents the forms in which events come. A header may name the
// service of all of them.
func describeEvents(registry huma.Registry) map[string]*huma.MediaType {
	event := *registry.Schema(reflect.TypeFor[recoup.Event](), false, "")
	event.Required = []string{"code"}
	many := &huma.Schema{Type: huma.TypeArray, Description: "the events; each is checked by itself", Items: &event, MaxItems: new(maxEvents)}
	named := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"events": many}, Required: []string{"events"}, AdditionalProperties: false}
	return map[string]*huma.MediaType{
		fault.MediaJSON: {Schema: &huma.Schema{OneOf: []*huma.Schema{&event, many, named}}},
		ndjson:          {Schema: &event},
	}
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
