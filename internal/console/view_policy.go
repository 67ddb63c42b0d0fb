package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"recoup"
	"recoup/client"
	"recoup/fault"
)

// policyPage is the policy in force, its tables, its versions, and one that is being thought
// of.
type policyPage struct {
	client.Policy
	Tables   []recoup.ErrorTable
	Versions []recoup.PolicyVersion
	Draft    string // the text that is tried
	Findings []fault.FieldError
	Problem  string
	Plan     string // what it would change, as the API says it
	MayPlan  bool
	MayApply bool
}

func viewPolicy(v *visit) (any, error) {
	p, err := readPolicy(v)
	p.Draft = p.Text
	return p, err
}

// readPolicy asks for what is in force.
func readPolicy(v *visit) (p policyPage, err error) {
	p.MayPlan, p.MayApply = v.who.May("operator", "admin"), v.who.May("admin")
	if p.Policy, err = v.client.Policy(v.ctx()); err != nil {
		return p, err
	}
	if p.Tables, err = v.client.Tables(v.ctx()); err != nil {
		return p, err
	}
	page, err := v.client.PolicyVersions(v.ctx(), client.Page{Limit: 20})
	p.Versions = page.Versions
	return p, err
}

// tryPolicy says what a policy would change, and changes nothing; or puts it in force.
func tryPolicy(v *visit) (any, error) {
	p, err := readPolicy(v)
	if err != nil {
		return nil, err
	}
	p.Draft = v.r.PostFormValue("text")
	plan, err := v.client.PlanPolicy(v.ctx(), p.Draft)
	if p.refused(err) {
		return v.again("policy", p)
	}
	if err != nil {
		return nil, err
	}
	if v.r.PostFormValue("apply") == "" {
		p.Plan = indented(plan)
		v.sent = true
		v.console.pages.show(v, http.StatusOK, "policy", p)
		return nil, nil
	}
	_, err = v.client.ApplyPolicy(v.ctx(), client.PolicyChange{Text: p.Draft, Rebase: v.r.PostFormValue("rebase") != "", Reason: v.text("reason")})
	if p.refused(err) {
		return v.again("policy", p)
	}
	if err != nil {
		return nil, err
	}
	v.goDone("policy", "policy", 1)
	return nil, nil
}

// refused takes what is wrong with a draft out of an error.
func (p *policyPage) refused(err error) bool {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationError {
		return false
	}
	p.Findings, p.Problem = e.Fields(), e.Message
	return true
}

// indented is JSON as people read it.
func indented(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
