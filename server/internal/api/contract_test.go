package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// document is the OpenAPI document with what finds an operation in it.
type document struct {
	text   []byte
	mux    *http.ServeMux
	errors map[string][]recoup.Code

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

// documented is the document that all tests share; the first world brings it.
var documented struct {
	sync.Mutex
	*document
}

// theDocument returns the document of a handler, and reads it once.
func theDocument(t *testing.T, handler http.Handler) *document {
	t.Helper()
	documented.Lock()
	defer documented.Unlock()
	if documented.document != nil {
		return documented.document
	}
	documented.document = readDocument(t, handler)
	return documented.document
}

// readDocument reads the document of a handler that also serves slices beside those of the program.
func readDocument(t *testing.T, handler http.Handler, added ...slice.Slice) *document {
	t.Helper()
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", nil)) // which a demo serves too
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(rec.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{text: rec.Body.Bytes(), errors: listedErrors(t, rec.Body.Bytes()), mux: http.NewServeMux(), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	for _, rt := range routeInfos() {
		d.mux.Handle(rt.Name(), http.NotFoundHandler())
	}
	for _, s := range added {
		for _, rt := range s.Routes.Routes {
			d.mux.Handle(rt.Info.Method+" "+rt.Info.Path, http.NotFoundHandler())
		}
	}
	return d
}

// schema returns what an operation documents for a status and a media type.
func (d *document) schema(t *testing.T, pattern string, status int, media string) *jsonschema.Schema {
	t.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	response := strconv.Itoa(status)
	if status >= 400 {
		response = "default"
	}
	return d.compile(t, "paths", path, strings.ToLower(method), "responses", response, "content", media, "schema")
}

func (d *document) compile(t *testing.T, pointer ...string) *jsonschema.Schema {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, part := range pointer {
		pointer[i] = strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1")
	}
	at := "openapi.json#/" + strings.Join(pointer, "/")
	if s, ok := d.schemas[at]; ok {
		return s
	}
	s, err := d.compiler.Compile(at)
	if err != nil {
		t.Fatalf("the document has no schema for %s: %v", at, err)
	}
	d.schemas[at] = s
	return s
}

// hold compares an answer with what its operation documents, a failure with spec
// 001, and a request that succeeded with what may be asked.
func (d *document) hold(t *testing.T, r *http.Request, sent []byte, rec *httptest.ResponseRecorder) {
	t.Helper()
	media, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";")
	_, pattern := d.mux.Handler(r)
	if rec.Code >= 400 {
		holdFailure(t, r, rec, media)
		d.holdListed(t, pattern, rec)
	}
	if pattern == "" || r.Method == http.MethodHead {
		return
	}
	if !slices.Contains([]string{fault.MediaJSON, fault.MediaProblem}, media) {
		t.Fatalf("%s %s: the answer is %s", r.Method, r.URL, media)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(rec.Body.Bytes()))
	if err != nil {
		t.Fatalf("%s %s: %v in %s", r.Method, r.URL, err, rec.Body)
	}
	if err := d.schema(t, pattern, rec.Code, media).Validate(value); err != nil {
		t.Errorf("%s %s answers %d, which the document does not have: %v\n%s", r.Method, r.URL, rec.Code, err, rec.Body)
	}
	if r.Method != http.MethodGet && rec.Code < 300 {
		holdRequestID(t, r, rec, value)
	}
	holdSecrets(t, pattern, rec)
	if asked, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); rec.Code < 300 && len(sent) > 0 && asked == fault.MediaJSON && !strings.Contains(rec.Body.String(), `"failure":`) {
		d.holdRequest(t, pattern, sent)
	}
}

// holdRequestID holds what answers a write to spec 001's example: the request's id
// stands beside the members of what was asked for, once.
func holdRequestID(t *testing.T, r *http.Request, rec *httptest.ResponseRecorder, value any) {
	t.Helper()
	members, _ := value.(object)
	id := rec.Header().Get(fault.RequestIDHeader)
	if got := members["request_id"]; id == "" || got != id || !strings.HasSuffix(strings.TrimSpace(rec.Body.String()), `"request_id":"`+id+`"}`) {
		t.Errorf("%s %s answers with the request id %v, and its header says %q", r.Method, r.URL, got, id)
	}
}

// holdRequest finds what is taken and not documented.
func (d *document) holdRequest(t *testing.T, pattern string, sent []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(sent))
	if err != nil {
		t.Errorf("%s takes %.200s: %v", pattern, sent, err)
		return
	}
	method, path, _ := strings.Cut(pattern, " ")
	if err := d.compile(t, "paths", path, strings.ToLower(method), "requestBody", "content", fault.MediaJSON, "schema").Validate(value); err != nil {
		t.Errorf("%s takes what the document does not have: %v\n%.500s", pattern, err, sent)
	}
}

// holdFailure holds a failure to spec 001: its fields, its status, its headers.
func holdFailure(t *testing.T, r *http.Request, rec *httptest.ResponseRecorder, media string) {
	t.Helper()
	var e struct {
		Code      recoup.Code `json:"error_code"`
		Message   string      `json:"message"`
		RequestID string      `json:"request_id"`
		After     int         `json:"retry_after"`
		URL       string      `json:"documentation_url"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
		t.Fatalf("a failure (%d, %s) that is not JSON: %v: %s", rec.Code, media, err, rec.Body)
	}
	def, ok := fault.Default().Lookup(e.Code)
	header := rec.Header()
	after, _ := strconv.Atoi(header.Get("Retry-After"))
	switch {
	case !ok || def.Code != e.Code:
		t.Errorf("the code %q is not registered", e.Code)
	case def.HTTPStatus != rec.Code:
		t.Errorf("%s came with %d, and is %d", e.Code, rec.Code, def.HTTPStatus)
	case e.Message == "" || e.RequestID == "" || e.RequestID != header.Get(fault.RequestIDHeader):
		t.Errorf("message or request id is missing: %s", rec.Body)
	case e.URL != "http://"+r.Host+"/errors/"+string(e.Code):
		t.Errorf("documentation_url is %q", e.URL)
	case e.After != after:
		t.Errorf("retry_after is %d, Retry-After %d", e.After, after)
	case header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff":
		t.Errorf("the headers let it be kept or guessed at: %v", header)
	case rec.Code == http.StatusUnauthorized && header.Get("WWW-Authenticate") == "":
		t.Error("401 without WWW-Authenticate")
	case e.Code == fault.CodeInternalError || e.Code == fault.CodeRuntimeBug || e.Code == fault.CodeDatabaseError:
		t.Errorf("an internal error: %s", rec.Body)
	}
}

// holdListed finds an error that its operation does not list, and that is not one of any
// call.
func (d *document) holdListed(t *testing.T, pattern string, rec *httptest.ResponseRecorder) {
	t.Helper()
	var e struct {
		Code recoup.Code `json:"error_code"`
	}
	decodeInto(t, rec.Body.Bytes(), &e)
	if listed := d.errors[pattern]; pattern != "" && !slices.Contains(listed, e.Code) && !slices.Contains(d.errors[""], e.Code) {
		t.Errorf("%s answers %s, which the document does not list: add it to the route's manual", pattern, e.Code)
	}
}

// listedErrors returns the errors that a document lists, by operation; under no name those
// of any call.
func listedErrors(t *testing.T, text []byte) map[string][]recoup.Code {
	t.Helper()
	type byStatus map[string][]recoup.Code
	var doc struct {
		Common byStatus `json:"x-errors"`
		Paths  map[string]map[string]struct {
			Errors byStatus `json:"x-errors"`
		}
	}
	decodeInto(t, text, &doc)
	all := map[string][]recoup.Code{"": slices.Concat(slices.Collect(maps.Values(doc.Common))...)}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			all[strings.ToUpper(method)+" "+path] = slices.Concat(slices.Collect(maps.Values(op.Errors))...)
		}
	}
	return all
}

// holdSecrets finds what must not leave: tokens of leases where nobody claims, and
// keys but in the answer that makes them.
func holdSecrets(t *testing.T, pattern string, rec *httptest.ResponseRecorder) {
	t.Helper()
	body := rec.Body.String()
	leases := strings.HasPrefix(pattern, "POST /v1/retries/") || pattern == "POST /v1/gate-zero/claim" ||
		pattern == "POST /v1/work/claim" || pattern == "POST /v1/work/{id}/extend"
	if !leases && (strings.Contains(body, `"lease_token":"`) || strings.Contains(body, `"last_attempt":"`) || strings.Contains(body, `"attempt":"`)) {
		t.Errorf("%s shows the token of a lease: %s", pattern, body)
	}
	if strings.Contains(body, "rdb_") && pattern != "POST /v1/keys" && pattern != "POST /v1/keys/{id}/rotate" {
		texts, _ := secrets()
		for _, secret := range texts {
			if strings.Contains(body, secret) {
				t.Errorf("%s shows a key", pattern)
			}
		}
	}
}
