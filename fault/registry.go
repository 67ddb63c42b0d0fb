// Package fault is the error contract: the shape of an error on the wire, the
// registry of codes, the classification of what happens to real programs, and
// the HTTP middleware that puts the three together (spec 001).
//
// It stores nothing and retries nothing; package retry does the waiting.
package fault

import "recoup"

// Definition is everything that is registered about one code.
type Definition struct {
	Code        recoup.Code      `json:"code"`
	Domain      string           `json:"domain"` // request, auth, resource, rate, runtime, data
	Class       recoup.Class     `json:"class"`
	Condition   recoup.Condition `json:"condition,omitempty"` // of a conditional code: what must be proven
	Proven      recoup.Class     `json:"proven,omitempty"`    // of a conditional code: its class once that is proven
	Category    recoup.Category  `json:"category"`
	Severity    recoup.Severity  `json:"severity"`
	HTTPStatus  int              `json:"http_status"`
	Group       string           `json:"group,omitempty"` // database, external_service: what alert rules count
	Description string           `json:"description"`
	Causes      []string         `json:"causes"`
	Resolution  []string         `json:"resolution"`
	Related     []recoup.Code    `json:"related,omitempty"`
	Aliases     []recoup.Code    `json:"aliases,omitempty"`
}

// Effective returns the class that counts: a conditional code is what Proven
// says where its condition is proven, and fatal where it is not.
func (d *Definition) Effective(proven bool) recoup.Class {
	switch {
	case d.Class != recoup.ClassConditional:
		return d.Class
	case proven:
		return d.Proven
	}
	return recoup.ClassFatal
}
