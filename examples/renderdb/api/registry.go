package api

import (
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// The codes that only this service has. All others come from the registry that
// Recoup ships, so that a shared code means the same everywhere.
const (
	CodePersonNotFound recoup.Code = "PERSON_NOT_FOUND"
	CodeSlotNotFound   recoup.Code = "SLOT_NOT_FOUND"
)

// ownCodes says of each code what the registry demands: what it means, where it
// comes from, how to mend it, and whether trying again can help.
func ownCodes() []fault.Definition {
	return []fault.Definition{
		{
			Code: CodePersonNotFound, Domain: "resource", Class: recoup.ClassFatal,
			Category: recoup.Structural, Severity: recoup.Medium, HTTPStatus: http.StatusNotFound, Origin: "renderdb",
			Description: "The person that the request refers to does not exist.",
			Causes:      []string{"A person_uid with a typing error.", "A person who was never created."},
			Resolution:  []string{"Check person_uid.", "Create the person first."},
			Related:     []recoup.Code{fault.CodeCompanyNotFound, CodeSlotNotFound},
		},
		{
			Code: CodeSlotNotFound, Domain: "resource", Class: recoup.ClassFatal,
			Category: recoup.Structural, Severity: recoup.Medium, HTTPStatus: http.StatusNotFound, Origin: "renderdb",
			Description: "The slot does not exist: companies have a slot for each of a few offices, made with the company.",
			Causes:      []string{"A slot_uid with a typing error.", "An office that companies here do not have."},
			Resolution:  []string{"Read the company to see its slots."},
			Related:     []recoup.Code{fault.CodeCompanyNotFound, fault.CodeSlotConflict},
		},
	}
}

// documentation is the page that documentation_url leads to: what the registry
// knows about a code.
func (s *server) documentation(w http.ResponseWriter, r *http.Request) error {
	definition, name, err := s.registry.Fold(r.PathValue("code"))
	if err != nil || definition.Code != name {
		return fault.New(fault.CodeNotFound, "No such code is registered.")
	}
	return write(w, http.StatusOK, definition)
}
