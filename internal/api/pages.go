package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"recoup/fault"
	"recoup/internal/api/reference"
)

// addPages adds what is for people and machines that look around: the document,
// the pages made from it, and the metrics.
func (a *API) addPages(mux *http.ServeMux) {
	mux.Handle("GET /openapi.json", fault.HandlerFunc(a.openAPI))
	mux.Handle("GET /errors", fault.HandlerFunc(a.codesPage))
	mux.Handle("GET /errors/{code}", fault.HandlerFunc(a.codePage))
	mux.Handle("GET /docs", fault.HandlerFunc(a.docsPage))
	mux.Handle("GET /docs/{page}", fault.HandlerFunc(a.docsArea))
	mux.Handle("GET /assets/{file}", fault.HandlerFunc(a.assetFile))
	if a.Metrics != nil {
		mux.Handle("GET /metrics", a.handle(metricsRoute()))
	}
}

// addConsole adds the pages for people. They are what a browser finds first.
func (a *API) addConsole(mux *http.ServeMux) error {
	if a.Console == nil {
		return nil
	}
	pages, err := a.Console(a)
	if err != nil {
		return err
	}
	mux.Handle("/console/", pages)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "console/") // relative: a proxy may have put us anywhere
		w.WriteHeader(http.StatusSeeOther)
	})
	return nil
}

// Secure reports whether whoever sent a request came by TLS, as far as this server or a
// proxy that it trusts can know.
func (a *API) Secure(r *http.Request) bool { return strings.HasPrefix(a.origin(r), "https:") }

// metricsRoute is for whoever scrapes the node with a key. It is no part of the
// document: what it answers is Prometheus's.
func metricsRoute() *route {
	rt := &route{method: http.MethodGet, path: "/metrics", status: http.StatusOK, media: "text/plain; version=0.0.4; charset=utf-8"}
	rt.serve = func(a *API, c *call) (any, error) {
		text, err := a.Metrics(c.caller.Hubs)
		return raw(text), err
	}
	return rt.by(Operator, Reader)
}

func (a *API) openAPI(w http.ResponseWriter, _ *http.Request) error {
	document, err := a.document()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", fault.MediaJSON)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(document) // it fails when the caller has gone
	return nil
}

// pagePolicy lets a page load its own style and script, and search. Nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// writePage answers with a page.
func writePage(w http.ResponseWriter, page []byte, err error) error {
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(page) // it fails when the caller has gone
	return nil
}

// assetFile answers with the style or the script of the pages. The name of a file changes
// with its content.
func (a *API) assetFile(w http.ResponseWriter, r *http.Request) error {
	file, ok := reference.Find(r.PathValue("file"))
	if !ok {
		return fault.New(fault.CodeNotFound, "There is no such file.")
	}
	h := w.Header()
	h.Set("Content-Type", file.Media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(file.Data) // it fails when the caller has gone
	return nil
}

// docsPage is the reference's first page, or what a search finds.
func (a *API) docsPage(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.reference()
	if err != nil {
		return err
	}
	page, err := ref.Index(a.address(r), truncated(r.URL.Query().Get("q"), maxQuery))
	return writePage(w, page, err)
}

// maxQuery is how much of a search is looked for.
const maxQuery = 200

func truncated(s string, most int) string { return s[:min(len(s), most)] }

// docsArea is a page of the reference. The id of an operation leads to its place.
func (a *API) docsArea(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.reference()
	if err != nil {
		return err
	}
	page, anchor, err := ref.Page(r.PathValue("page"), map[string]string{reference.Server: a.address(r), exampleTomorrow: a.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)})
	switch {
	case anchor != "":
		w.Header().Set("Location", anchor) // beside this one
		w.WriteHeader(http.StatusFound)
		return nil
	case page == nil && err == nil:
		return fault.New(fault.CodeNotFound, "The reference has no such page; /docs lists what there is.")
	}
	return writePage(w, page, err)
}

// address is where examples send their calls: to the address that the page was found at.
func (a *API) address(r *http.Request) string { return cmp.Or(a.origin(r), "http://localhost:8080") }

// codePage is the documentation of a code, where documentation_url points to.
func (a *API) codePage(w http.ResponseWriter, r *http.Request) error {
	def, ok := a.lookupCode(r.PathValue("code"))
	if !ok {
		return fault.New(fault.CodeNotFound, "No such code is registered.")
	}
	example, err := json.MarshalIndent(def.Example, "", "  ")
	if err != nil {
		return err
	}
	ref, err := a.reference()
	if err != nil {
		return err
	}
	page, err := ref.Code(string(def.Code), struct {
		*fault.Definition
		Retries []altitude
		Body    string
	}{def, a.altitudes(def), string(example)})
	return writePage(w, page, err)
}

// codesPage is the list of all codes, by what they are about.
func (a *API) codesPage(w http.ResponseWriter, _ *http.Request) error {
	type domain struct {
		Name  string
		Codes []*fault.Definition
	}
	var list []domain
	for _, name := range fault.Domains() {
		of := domain{Name: name}
		for _, def := range a.Registrar.Codes().All() {
			if def.Domain == name {
				of.Codes = append(of.Codes, def)
			}
		}
		list = append(list, of)
	}
	ref, err := a.reference()
	if err != nil {
		return err
	}
	page, err := ref.Codes(list)
	return writePage(w, page, err)
}
