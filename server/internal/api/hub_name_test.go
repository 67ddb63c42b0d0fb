package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Everywhere a hub is named, its name does as its id does, in any case; what is stored is the id.
func TestHubsByName(t *testing.T) {
	onBothStores(t, func(w *world) {
		for _, word := range []string{dolHub, "DOL Filings", "dol filings", "DOL-FILINGS"} {
			w.namesHub(word)
		}
	})
}

func (w *world) namesHub(word string) {
	w.Helper()
	var key wire.Key
	w.post("/v1/keys", wire.NewKey{Name: "importer", Role: "worker", Hubs: []string{word, dolHub}, Reason: "a test"}).ok(&key)
	if len(key.Hubs) != 1 || key.Hubs[0] != dolHub {
		w.Errorf("a key for %q is for %q", word, key.Hubs)
	}
	e := w.report(dol, w.entity())
	w.report(people, w.entity())
	query := "?hub=" + url.QueryEscape(word)
	var list recoup.ErrorPage
	w.get("/v1/errors" + query).ok(&list)
	if len(list.Errors) == 0 || list.Errors[0].ID != e.ID {
		w.Errorf("of %q: %+v", word, list.Errors)
	}
	for _, found := range list.Errors {
		if found.Table != dol {
			w.Errorf("%q lists an error of %s", word, found.Table)
		}
	}
	for _, path := range []string{"/v1/errors/parked", "/v1/error-groups", "/v1/series"} {
		w.get(path + query).ok()
	}
	var view wire.View
	w.do("operator", http.MethodPost, "/v1/views", wire.NewView{Name: "view " + w.entity(), Tokens: []string{"hub:" + word, "state:PARKED"}, Hub: word}).ok(&view)
	if view.Hub != dolHub || view.Tokens[0] != "hub:"+dolHub {
		w.Errorf("a view of %q has %+v", word, view)
	}
	var silence wire.Silence
	w.post("/v1/silences", wire.NewSilence{Rule: "park-rate", Scope: word, Until: w.clock().Add(time.Hour), Reason: "a test"}).ok(&silence)
	if silence.Scope != dolHub {
		w.Errorf("a silence of %q is of %q", word, silence.Scope)
	}
}

// An unknown hub is refused with the hubs that there are, and the one that was probably meant.
func TestUnknownHub(t *testing.T) {
	onBothStores(t, func(w *world) {
		const word = "DOL Filing"
		answers := map[string]*answer{
			"a key":    w.post("/v1/keys", wire.NewKey{Name: "importer", Role: "worker", Hubs: []string{word}, Reason: "a test"}),
			"a filter": w.get("/v1/errors?hub=" + url.QueryEscape(word)),
			"a view":   w.do("operator", http.MethodPost, "/v1/views", wire.NewView{Name: "v", Hub: word}),
		}
		for what, a := range answers {
			for _, part := range []string{"unknown hub", "dol-filings (DOL Filings)", "people-intelligence (People Intelligence)", "did you mean DOL Filings?"} {
				if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), part) {
					w.Errorf("%s is answered %d %s, without %q", what, a.Code, a.Body, part)
				}
			}
		}
	})
}

// The doctor's findings are for whoever operates the installation as a whole, and hold no secrets.
func TestDoctorForOperators(t *testing.T) {
	onBothStores(t, func(w *world) {
		var found wire.Diagnosis
		for key, status := range map[string]int{
			"admin": 200, "operator": 200, "operator" + onlyDOL: 403, "admin" + onlyDOL: 403, "reader": 403, "worker": 403, "ingest": 403,
		} {
			a := w.do(key, http.MethodGet, "/v1/doctor", nil)
			if a.Code != status {
				w.Errorf("%s is answered %d, want %d: %s", key, a.Code, status, a.Body)
			}
			if status == 200 {
				a.ok(&found)
			}
			for name, secret := range w.keys {
				if strings.Contains(a.Body.String(), secret) {
					w.Errorf("the answer to %s holds the key of %s", key, name)
				}
			}
		}
	})
}
