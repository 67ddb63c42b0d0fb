package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func viewExamples(list map[string]example) {
	body := func(w *world, table string) wire.NewView {
		return wire.NewView{Name: w.entity(), Tokens: []string{"table:" + table, "parked:yes"}, Hub: map[string]string{dol: dolHub, people: peopleHub}[table]}
	}
	saved := func(w *world, table string) string {
		var v wire.View
		w.post("/v1/views", body(w, table)).ok(&v)
		return "/v1/views/" + v.ID.String()
	}
	list["GET /v1/views"] = fixed("/v1/views", nil, leftOut)
	list["POST /v1/views"] = example{make: func(w *world, table string) (string, any) { return "/v1/views", body(w, table) }}
	list["PUT /v1/views/{id}"] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
		return saved(w, table), wire.NewView{Name: w.entity(), Tokens: []string{"older:2d"}, Hub: dolHub}
	}}
	list["DELETE /v1/views/{id}"] = example{other: unknownThere, make: func(w *world, table string) (string, any) { return saved(w, table), nil }}
}

func (w *world) views(key string) (names []string) {
	w.Helper()
	var page wire.ViewPage
	w.do(key, http.MethodGet, "/v1/views", nil).ok(&page)
	for i := range page.Views {
		names = append(names, page.Views[i].Name)
	}
	return names
}

// A view is seen by who owns it or by the people of its hub, and changed by them alone.
func TestViews(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		var own, shared wire.View
		w.do("operator", http.MethodPost, "/v1/views", wire.NewView{Name: "mine", Tokens: []string{"state:parked", "older:2d", "code:timeout"}}).ok(&own)
		w.do("operator", http.MethodPost, "/v1/views", wire.NewView{Name: "ours", Hub: peopleHub}).ok(&shared)
		if own.Owner == "" || own.Hub != "" || shared.Owner != "" || shared.Hub != peopleHub || shared.Tokens == nil {
			w.Errorf("saved %+v and %+v", own, shared)
		}
		for key, want := range map[string]string{"operator": "[ours mine]", "admin": "[ours]", "reader": "[ours]", "operator" + onlyDOL: "[]"} {
			if got := fmt.Sprint(w.views(key)); got != want {
				w.Errorf("%s sees %s, want %s", key, got, want)
			}
		}
		at := "/v1/views/" + own.ID.String()
		w.do("admin", http.MethodPut, at, wire.NewView{Name: "theirs"}).failed(http.StatusNotFound, fault.CodeNotFound)
		w.do("admin", http.MethodDelete, at, nil).failed(http.StatusNotFound, fault.CodeNotFound)
		w.do("operator"+onlyDOL, http.MethodDelete, "/v1/views/"+shared.ID.String(), nil).failed(http.StatusNotFound, fault.CodeNotFound)
		w.do("operator", http.MethodPut, at, wire.NewView{Name: "ours", Hub: peopleHub}).invalid("name", "unique")
		w.do("operator", http.MethodPut, at, wire.NewView{Name: "parked", Tokens: []string{"parked:yes"}}).ok(&own)
		if own.Name != "parked" || len(own.Tokens) != 1 {
			w.Errorf("changed to %+v", own)
		}
		w.do("admin", http.MethodDelete, "/v1/views/"+shared.ID.String(), nil).ok()
		if got := fmt.Sprint(w.views("operator")); got != "[parked]" {
			w.Errorf("left are %s", got)
		}
	})
}

// A view has a filter that a list takes, and nothing of it is a secret.
func TestViewsAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, bad := range []struct {
		view              wire.NewView
		field, constraint string
	}{
		{wire.NewView{}, "name", "required"},
		{wire.NewView{Name: secretText}, "name", "no_secret"},
		{wire.NewView{Name: "a", Hub: "nobody"}, "hub", "known"},
		{wire.NewView{Name: "a", Tokens: []string{"entity:" + secretText}}, "tokens[0]", "no_secret"},
		{wire.NewView{Name: "a", Tokens: []string{"tier:1", "color:red"}}, "tokens[1]", "pattern"},
		{wire.NewView{Name: "a", Tokens: []string{"tier:1", "tier:2"}}, "tokens[1]", "unique"},
		{wire.NewView{Name: "a", Tokens: []string{"older:yesterday"}}, "tokens[0]", "pattern"},
		{wire.NewView{Name: "a", Tokens: []string{"state:ARCHIVED"}}, "tokens[0]", "pattern"},
		{wire.NewView{Name: "a", Tokens: []string{"hub:nobody"}}, "hub", "known"},
	} {
		w.post("/v1/views", bad.view).invalid(bad.field, bad.constraint)
	}
	if got := w.views("admin"); len(got) != 0 {
		t.Errorf("saved %v", got)
	}
}
