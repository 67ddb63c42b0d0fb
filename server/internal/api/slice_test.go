package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// library is the service of a feature that has its own routes.
type library struct{ lent map[string]string }

type loan struct {
	Title    string `json:"title" doc:"of the book"`
	Borrower string `json:"borrower" maxLength:"20" doc:"who has the book"`
}

type titleIn struct {
	Title string `path:"title" doc:"of the book"`
}

type lendIn struct {
	titleIn
	Body struct {
		Borrower string `json:"borrower" maxLength:"20" doc:"who gets the book"`
	}
}

// notLent is a failure of the service. It brings its own answer.
type notLent struct{ title string }

func (e *notLent) Error() string { return e.title + " is not lent" }

func (e *notLent) Fault() *fault.Error {
	return fault.Wrap(e, fault.CodeNotFound, "The book is not lent.")
}

func (l *library) show(_ *httpapi.Call, in *titleIn) (loan, error) {
	if borrower, ok := l.lent[in.Title]; ok {
		return loan{in.Title, borrower}, nil
	}
	return loan{}, &notLent{in.Title}
}

func (l *library) lend(c *httpapi.Call, in *lendIn) (loan, error) {
	if err := l.checkLoan(c, in); err != nil {
		return loan{}, err
	}
	l.lent[in.Title] = in.Body.Borrower
	return loan{in.Title, in.Body.Borrower}, nil
}

func (*library) checkLoan(_ *httpapi.Call, in *lendIn) error {
	if in.Body.Borrower == "" {
		return fault.BadField("borrower", "required", "borrower is required")
	}
	return nil
}

// librarySet are the routes of the library with their documentation.
func librarySet() httpapi.Set {
	routes := []*httpapi.Route{
		httpapi.Op(http.MethodGet, "/v1/library/{title}", "Show a loan", (*library).show).Roles(httpapi.RoleReader).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/library/{title}", "Lend a book", (*library).lend), (*library).checkLoan).
			Status(http.StatusCreated).Roles(httpapi.RoleOperator).AllHubs(),
	}
	for _, r := range routes {
		r.Tag("library")
	}
	return httpapi.Set{
		Areas: []httpapi.Area{{Name: "library", Description: "Books and who has them."}},
		Routes: httpapi.Documented(routes, map[string]httpapi.Doc{
			"GET /v1/library/{title}":  {About: "The loan of a book.", Params: map[string]string{"title": "Ulysses"}, Fails: []recoup.Code{fault.CodeNotFound}},
			"POST /v1/library/{title}": {About: "Lends a book.", Params: map[string]string{"title": "Ulysses"}, Body: `{"borrower": "ada"}`},
		}),
		Answers: []byte(`{"GET /v1/library/{title}": {"title": "Ulysses", "borrower": "ada"}}`),
	}
}

// librarySlice registers the routes of the library with a service.
func librarySlice(service any) slice.Slice {
	return slice.Slice{
		Name: "library", Routes: librarySet(),
		Open: func(context.Context, slice.Core) (slice.Running, error) { return slice.Running{Service: service}, nil },
	}
}

func withLibrary(_ *world, o *app.Options) {
	o.Slices = append(o.Slices, librarySlice(&library{lent: map[string]string{}}))
}

// A slice's routes are served beside those of the core: with the same keys, limits and checks of
// requests, and the service that they were mounted with.
func TestSlicesAreServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLibrary)
	var got loan
	w.do("operator", http.MethodPost, "/v1/library/Ulysses", `{"borrower":"ada"}`).ok(&got)
	if w.do("reader", http.MethodGet, "/v1/library/Ulysses", nil).ok(&got); got != (loan{"Ulysses", "ada"}) {
		t.Errorf("got %+v", got)
	}
	w.do("", http.MethodGet, "/v1/library/Ulysses", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	refused := w.do("reader", http.MethodPost, "/v1/library/Ulysses", `{"borrower":"grace"}`).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	if roles := refused.Details["required_roles"].([]any); !slices.Equal(roles, []any{"operator", "admin"}) {
		t.Errorf("a reader is told that %v may do it", roles)
	}
	w.do("operator"+onlyDOL, http.MethodPost, "/v1/library/Ulysses", `{"borrower":"grace"}`).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	w.post("/v1/library/Ulysses", `{}`).invalid("borrower", "required")
	w.post("/v1/library/Ulysses", `{"borrower":"`+strings.Repeat("a", 21)+`"}`).invalid("borrower", "max_length")
	if got := w.get("/v1/library/Dubliners").failed(http.StatusNotFound, fault.CodeNotFound); got.Message != "The book is not lent." {
		t.Errorf("the failure of the service is answered %q", got.Message)
	}
	w.report(dol, "CO-1") // a route of the core
}

// A slice's routes are in the document between those of the core, with their area, roles,
// documentation and example answers; the rest of the document is as it is without them.
func TestSlicesAreDocumented(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLibrary)
	doc, without := w.openapi(), newWorld(t).openapi()
	paths := doc["paths"].(object)
	show := paths["/v1/library/{title}"].(object)["get"].(object)
	answer := show["responses"].(object)["200"].(object)["content"].(object)["application/json"].(object)["example"]
	if show["description"] != "The loan of a book." || !slices.Equal(show["x-roles"].([]any), []any{"admin", "reader"}) || answer == nil {
		t.Errorf("documented as %v", show)
	}
	before, after := paths["/v1/gate-zero/status"].(object)["get"].(object), paths["/v1/dead-letters"].(object)["get"].(object)
	if at := show["x-position"].(float64); at <= before["x-position"].(float64) || at >= after["x-position"].(float64) {
		t.Errorf("at position %v, want between %v and %v", at, before["x-position"], after["x-position"])
	}
	var areas []string
	for _, tag := range doc["tags"].([]any) {
		areas = append(areas, tag.(object)["name"].(string))
	}
	if i := slices.Index(areas, "library"); i < 1 || areas[i-1] != "Gate Zero" || areas[i+1] != "operations" {
		t.Errorf("the areas are %v", areas)
	}
	if more := len(paths) - len(without["paths"].(object)); more != 1 {
		t.Errorf("%d paths are added", more)
	}
	if page := w.do("", http.MethodGet, "/docs/library", nil); page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "Lend a book") {
		t.Errorf("the reference of the area: %d", page.Code)
	}
}

// A set's routes come in the document where it says, behind a route of another set.
func TestPlaceOfRoutes(t *testing.T) {
	t.Parallel()
	set := librarySet()
	set.After = "GET /v1/doctor"
	var names []string
	for _, rt := range api.RouteInfos(set) {
		names = append(names, rt.Name())
	}
	if i := slices.Index(names, "GET /v1/doctor"); i < 0 || !slices.Equal(names[i+1:i+3], []string{"GET /v1/library/{title}", "POST /v1/library/{title}"}) {
		t.Errorf("the routes are %v", names)
	}
	set.After = "GET /v1/nothing"
	if _, err := api.Document("test", set); err == nil || !strings.Contains(err.Error(), "routes follow GET /v1/nothing, which is no route") {
		t.Errorf("got %v", err)
	}
}

// A slice whose service cannot serve its routes ends the start of the node.
func TestSliceOfAnotherService(t *testing.T) {
	t.Parallel()
	s, err := app.OpenStore(t.Context(), "sqlite:"+template.Copy(t, t.TempDir()), nil)
	if err != nil {
		t.Fatal(err)
	}
	node, err := app.OpenOn(t.Context(), s, app.Options{Listen: "127.0.0.1:0", Slices: []slice.Slice{librarySlice("no library")}})
	if err == nil {
		_ = node.Close(context.Background())
		t.Fatal("the node starts")
	}
	if !strings.Contains(err.Error(), "GET /v1/library/{title} is served by *api_test.library, not by string") {
		t.Errorf("got %v", err)
	}
}
