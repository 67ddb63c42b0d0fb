// Package reference renders the API's OpenAPI document for people: an index with a search,
// a page for each area, and the pages of error codes, in one look. It knows nothing but the
// document that it is given, so that nothing can be on a page that is not in the document,
// and it needs no script and no style from anywhere else.
package reference

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
)

//go:embed template/*.html
var templates embed.FS

// Reference is the document in the shape of its pages.
type Reference struct {
	version string
	areas   []*Area
	common  []Code // that any call may be answered
	pages   *template.Template
}

// Server stands for the address of the server until a page is served: what a browser calls
// it differs, and the rest of a page does not.
const Server = "http://server.invalid"

// New reads the document.
func New(document []byte) (*Reference, error) {
	var doc openAPI
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	r := &Reference{version: doc.Info.Version, common: codesOf(doc.Common)}
	if err := r.arrange(&doc); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	var err error
	r.pages, err = template.New("").Funcs(template.FuncMap{"prose": prose, "asset": asset, "slug": slug, "lower": strings.ToLower}).ParseFS(templates, "template/*.html")
	return r, err
}

// arrange makes the areas, in the order of the document's tags.
func (r *Reference) arrange(doc *openAPI) error {
	byTag := map[string]*Area{}
	for _, tag := range doc.Tags {
		a := &Area{Name: tag.Name, About: tag.Description}
		byTag[tag.Name] = a
		r.areas = append(r.areas, a)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			a := byTag[strings.Join(op.Tags, " ")]
			if a == nil {
				return fmt.Errorf("%s %s is of the area %v, which the document does not describe", method, path, op.Tags)
			}
			shown, err := doc.operation(strings.ToUpper(method), path, op)
			if err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			shown.Area = a
			a.Operations = append(a.Operations, shown)
		}
	}
	for _, a := range r.areas {
		slices.SortFunc(a.Operations, func(x, y *Operation) int { return x.position - y.position })
		doc.complete(a)
	}
	return nil
}

// Area is a page: the calls about one thing, and the objects that several of them return.
type Area struct {
	Name, About string
	Operations  []*Operation
	Objects     []Object
}

// Slug is the area's name in an address.
func (a *Area) Slug() string { return slug(a.Name) }

// Title is the area's name as a heading.
func (a *Area) Title() string { return strings.ToUpper(a.Name[:1]) + a.Name[1:] }

func slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// view is what every page is made of. Root leads to the server's root, so that pages also
// work behind a proxy that puts them under a path.
type view struct {
	Title, Root, Version, Query string
	Areas                       []*Area
	Current                     *Area
	Common                      []Code
	Matches                     int
	Server                      string
	Data                        any
}

func (r *Reference) render(name string, v view) ([]byte, error) {
	v.Version, v.Common = r.version, r.common
	if v.Areas == nil {
		v.Areas = r.areas
	}
	var page bytes.Buffer
	err := r.pages.ExecuteTemplate(&page, name, v)
	return page.Bytes(), err
}

// Index renders the first page: how calls are made, and the list of all, or of those that
// match a query.
func (r *Reference) Index(server, query string) ([]byte, error) {
	matches := r.matches(query)
	return r.render("index.html", view{Title: "API reference", Query: query, Server: server, Data: matches, Matches: count(matches)})
}

// Find reports whether there is a page of a name. The id of an operation has none, and anchor
// says where on which page it is.
func (r *Reference) Find(name string) (anchor string, ok bool) {
	for _, a := range r.areas {
		if a.Slug() == name {
			return "", true
		}
		for _, op := range a.Operations {
			if op.ID == name {
				return a.Slug() + "#" + url.PathEscape(op.ID), true
			}
		}
	}
	return "", false
}

// Page renders the page of an area, with what stands for something replaced by it, and with
// [Server] in its examples.
func (r *Reference) Page(name string, with map[string]string) ([]byte, error) {
	i := slices.IndexFunc(r.areas, func(a *Area) bool { return a.Slug() == name })
	if i < 0 {
		return nil, fmt.Errorf("reference: no page %s", name)
	}
	page, err := r.render("area.html", view{Title: r.areas[i].Title(), Root: "../", Current: r.areas[i]})
	for old, text := range with {
		page = bytes.ReplaceAll(page, []byte(old), []byte(template.HTMLEscapeString(text)))
	}
	return page, err
}

// Codes is the list of error codes, and Code the page of one; data is what their templates
// show.
func (r *Reference) Codes(data any) ([]byte, error) {
	return r.render("codes.html", view{Title: "Error codes", Data: data})
}

// Code is the page of one error code.
func (r *Reference) Code(code string, data any) ([]byte, error) {
	return r.render("code.html", view{Title: code, Root: "../", Data: data})
}
