package api

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"

	"recoup"
	"recoup/fault"
)

// addPages adds what is for people and machines that look around: the document,
// the pages made from it, and the metrics.
func (a *API) addPages(mux *http.ServeMux) {
	mux.Handle("GET /openapi.json", fault.HandlerFunc(a.openAPI))
	mux.Handle("GET /errors", fault.HandlerFunc(a.codesPage))
	mux.Handle("GET /errors/{code}", fault.HandlerFunc(a.codePage))
	mux.Handle("GET /docs", fault.HandlerFunc(a.docsPage))
	if a.Metrics != nil {
		mux.Handle("GET /metrics", a.handle(metricsRoute()))
	}
}

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

// secure sets what keeps a page from doing anything but being read.
func secure(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

//go:embed code.html
var codeHTML string

//go:embed codes.html
var codesHTML string

//go:embed docs.html
var docsHTML string

var pages = template.Must(template.Must(template.Must(template.New("code").Parse(codeHTML)).New("codes").Parse(codesHTML)).New("docs").Parse(docsHTML))

// codePage is the documentation of a code, where documentation_url points to.
func (a *API) codePage(w http.ResponseWriter, r *http.Request) error {
	def, ok := a.Registrar.Codes().Lookup(recoup.Code(strings.ToUpper(r.PathValue("code"))))
	if !ok {
		return fault.New(fault.CodeNotFound, "No such code is registered.")
	}
	example, err := json.MarshalIndent(def.Example, "", "  ")
	if err != nil {
		return err
	}
	secure(w)
	return pages.ExecuteTemplate(w, "code", struct {
		*fault.Definition
		Retries []altitude
		Body    string
	}{def, a.altitudes(def), string(example)})
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
	secure(w)
	return pages.ExecuteTemplate(w, "codes", list)
}

func (a *API) docsPage(w http.ResponseWriter, _ *http.Request) error {
	secure(w)
	return pages.ExecuteTemplate(w, "docs", struct {
		Version string
		Groups  []group
	}{a.Version, groups(routes())})
}

// group is the routes of one tag.
type group struct {
	Name   string
	Routes []docRoute
}

type docRoute struct {
	Method, Path, Summary string
	Roles                 []Role
}

func groups(list []*route) []group {
	var all []group
	at := map[string]int{}
	for _, rt := range list {
		i, ok := at[rt.tag]
		if !ok {
			i = len(all)
			at[rt.tag] = i
			all = append(all, group{Name: rt.tag})
		}
		doc := docRoute{Method: rt.method, Path: rt.path, Summary: rt.summary}
		if !rt.open() {
			doc.Roles = rt.permitted()
		}
		all[i].Routes = append(all[i].Routes, doc)
	}
	return all
}
