package policy

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// codeOrigin says who named the codes of a policy.
const codeOrigin = "the policy"

// checkCodes registers the policy's own codes, in the checker's registry, so that the
// rest of the file may name them. It returns them in the order of the file.
func (c *checker) checkCodes() []fault.Definition {
	var own []fault.Definition
	for _, name := range c.doc.keysOf("codes") {
		code := recoup.Code(name)
		if shipped, ok := fault.Default().Lookup(code); ok {
			c.add(c.doc.places[pointer("codes", name)].key, "%s is one of the codes that Recoup ships, expected another name: they mean one thing everywhere", shipped.Code)
			continue
		}
		own = append(own, c.file.Codes[code].definition(code))
	}
	registry := c.codes
	if registry == nil {
		registry = fault.Default()
	}
	next, err := registry.Replace(own...)
	if err != nil {
		c.refusedCodes(err)
		return nil
	}
	c.registry = next
	if c.codes != nil {
		c.codes = next
	}
	return own
}

// refusedCodes finds the code that each problem of the registry is about.
func (c *checker) refusedCodes(err error) {
	var list interface{ Unwrap() []error }
	if !errors.As(err, &list) {
		c.add(c.doc.at("codes"), "%v", err)
		return
	}
	for _, problem := range list.Unwrap() {
		code, text, _ := strings.Cut(problem.Error(), ": ")
		if f := c.file.Codes[recoup.Code(code)]; f.Class == "" || f.Description == "" {
			continue // the schema has refused it
		}
		c.add(c.doc.places[pointer("codes", code)].key, "%s: %s", code, text)
	}
}

func (f fileCode) definition(code recoup.Code) fault.Definition {
	return Completed(fault.Definition{
		Code: code, Class: f.Class, Condition: f.Condition, Proven: f.Proven, Category: f.Category, Severity: f.Severity,
		HTTPStatus: f.HTTPStatus, Domain: f.Domain, Group: f.Group, Page: f.Page, Origin: codeOrigin,
		Description: f.Description, Causes: f.Causes, Resolution: f.Resolution, Related: f.Related, Aliases: f.Aliases,
	})
}

// Completed fills in what a code need not say about itself.
func Completed(def fault.Definition) fault.Definition {
	if def.Category == "" && def.Class == recoup.ClassFatal {
		def.Category = recoup.Structural
	}
	def.Category = cmp.Or(def.Category, recoup.Transient)
	def.Severity = cmp.Or(def.Severity, recoup.Medium)
	def.Domain = cmp.Or(def.Domain, "runtime")
	def.HTTPStatus = cmp.Or(def.HTTPStatus, http.StatusInternalServerError)
	def.Description = cmp.Or(def.Description, "Registered by plain SQL, without a description.")
	if len(def.Causes) == 0 {
		def.Causes = []string{"Nobody has written down a cause."}
	}
	if len(def.Resolution) == 0 {
		def.Resolution = []string{"Nobody has written down what to do."}
	}
	return def
}
