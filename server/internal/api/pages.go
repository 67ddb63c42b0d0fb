package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api/reference"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/webfile"
)

// addPages adds what is for people and machines that look around: the document,
// the pages made from it, and the metrics.
func (a *API) addPages() error {
	a.Handle("GET /openapi.json", a.readable(aPage, a.openAPI))
	a.Handle("GET /errors", a.readable(aPage, a.codesPage))
	a.Handle("GET /errors/{code}", a.readable(aPage, a.codePage))
	a.Handle("GET /docs", a.readable(searchCost, a.docsPage))
	a.Handle("GET /docs/{page}", a.readable(aPage, a.docsArea))
	a.Handle("GET /assets/{file}", a.readable(aPage, a.assetFile))
	if a.Metrics == nil {
		return nil
	}
	return a.Mount(a, metricsRoute())
}

// addConsole adds the pages for people. They are what a browser finds first.
func (a *API) addConsole() error {
	if a.Console == nil {
		return nil
	}
	pages, err := a.Console(a)
	if err != nil {
		return err
	}
	a.Handle("/console/", pages)
	a.Handle("GET /{$}", a.Paid(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Location", "console/") // relative: a proxy may have put us anywhere
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}))
	return nil
}

// metricsRoute is for whoever scrapes the node with a key. It is no part of the
// document: what it answers is Prometheus's.
func metricsRoute() *httpapi.Route {
	return httpapi.OpText(http.MethodGet, "/metrics", "text/plain; version=0.0.4; charset=utf-8", func(a *API, c *httpapi.Call) ([]byte, error) {
		return a.Metrics(c.Caller.Hubs)
	}).Roles(httpapi.RoleOperator, httpapi.RoleReader)
}

func (a *API) openAPI(r *http.Request) (found, error) {
	return a.page(r, "openapi.json", fault.MediaJSON, "", a.document)
}

// page returns a page that is rendered once.
func (a *API) page(r *http.Request, name, media, origin string, render func() ([]byte, error)) (found, error) {
	file, written, err := a.pages.page(a.pageVersion(), name, media, origin, render)
	if written {
		a.ChargeAnonymous(r, costHost-httpapi.CostPage)
	}
	return found{file: file}, err
}

// pagePolicy lets a page load its own style and script, and search. Nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// assetFile is the style or the script of the pages. The name of a file changes with its
// content.
func (a *API) assetFile(r *http.Request) (found, error) {
	file, ok := reference.Find(r.PathValue("file"))
	if !ok {
		return found{}, fault.New(fault.CodeNotFound, "There is no such file.")
	}
	return found{file: file}, nil
}

// query is what a reader searches for; empty: nothing.
func query(r *http.Request) string {
	all, err := httpapi.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return ""
	}
	return truncated(all.Get("q"), maxQuery)
}

// Costs of pages, in requests.
const (
	costSearch = 25 // rendered each time
	costHost   = 10 // of a page that names a host for the first time, which may be made up
)

// searchCost is what the reference's first page costs: what a search finds is rendered each
// time.
func searchCost(r *http.Request) int {
	if query(r) != "" {
		return costSearch
	}
	return httpapi.CostPage
}

// docsPage is the reference's first page, or what a search finds.
func (a *API) docsPage(r *http.Request) (found, error) {
	ref, err := a.reference()
	if err != nil {
		return found{}, err
	}
	if q := query(r); q != "" {
		a.pages.rendered.Add(1)
		page, err := ref.Index(a.address(r), q)
		return found{file: webfile.New(mediaPage, webfile.Revalidate, page)}, err
	}
	return a.page(r, "docs", mediaPage, a.address(r), func() ([]byte, error) { return ref.Index(reference.Server, "") })
}

// maxQuery is how much of a search is looked for.
const maxQuery = 200

func truncated(s string, most int) string { return s[:min(len(s), most)] }

// docsArea is a page of the reference. The id of an operation leads to its place.
func (a *API) docsArea(r *http.Request) (found, error) {
	ref, err := a.reference()
	if err != nil {
		return found{}, err
	}
	name := r.PathValue("page")
	switch anchor, ok := ref.Find(name); {
	case anchor != "":
		return found{location: anchor}, nil // beside this one
	case !ok:
		return found{}, fault.New(fault.CodeNotFound, "The reference has no such page; /docs lists what there is.")
	}
	tomorrow := a.pageVersion().day.Add(48 * time.Hour).Format(time.RFC3339) // for as long as the page is kept
	return a.page(r, "docs/"+name, mediaPage, a.address(r), func() ([]byte, error) {
		return ref.Page(name, map[string]string{exampleTomorrow: tomorrow})
	})
}

// address is where examples send their calls: to the address that the page was found at.
func (a *API) address(r *http.Request) string { return cmp.Or(a.Origin(r), "http://localhost:8080") }

// codePage is the documentation of a code, where documentation_url points to.
func (a *API) codePage(r *http.Request) (found, error) {
	def, ok := a.lookupCode(r.PathValue("code"))
	if !ok {
		return found{}, fault.New(fault.CodeNotFound, "No such code is registered.")
	}
	return a.page(r, "errors/"+string(def.Code), mediaPage, "", func() ([]byte, error) {
		example, err := json.MarshalIndent(def.Example, "", "  ")
		if err != nil {
			return nil, err
		}
		ref, err := a.reference()
		if err != nil {
			return nil, err
		}
		return ref.Code(string(def.Code), struct {
			*fault.Definition
			Retries []altitude
			Body    string
		}{def, a.altitudes(def), string(example)})
	})
}

// codesPage is the list of all codes, by what they are about.
func (a *API) codesPage(r *http.Request) (found, error) {
	return a.page(r, "errors", mediaPage, "", func() ([]byte, error) {
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
			return nil, err
		}
		return ref.Codes(list)
	})
}

// AnonymousFigures are how requests without a key do.
type AnonymousFigures struct {
	httpapi.AnonymousFigures
	Rendered int64 // pages
}

// AnonymousFigures returns how requests without a key do.
func (a *API) AnonymousFigures() AnonymousFigures {
	return AnonymousFigures{a.Server.AnonymousFigures(), a.pages.rendered.Load()}
}
