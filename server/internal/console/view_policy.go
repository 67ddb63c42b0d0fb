package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// policyPage is the policy in force, its tables, its versions, and one that is being thought
// of.
type policyPage struct {
	wire.Policy
	Tables   []wire.ErrorTable
	Versions []wire.PolicyVersion
	Draft    string // the text that is tried
	Findings []fault.FieldError
	Problem  string
	Plan     *policyPlan // what it would change
	MayPlan  bool
	MayApply bool
}

// Tried reports whether the page is the answer to a draft.
func (p policyPage) Tried() bool { return p.Plan != nil || p.Problem != "" }

func viewPolicy(v *Request) (any, error) {
	p, err := readPolicy(v)
	p.Draft = p.Text
	return p, err
}

// readPolicy asks for what is in force.
func readPolicy(v *Request) (p policyPage, err error) {
	p.MayPlan, p.MayApply = v.who.May("operator", "admin"), v.who.May("admin")
	var page wire.PolicyVersionPage
	err = together(
		func() (err error) { p.Policy, err = admin.New(v.client).Policy.Current(v.ctx()); return err },
		func() (err error) { p.Tables, err = admin.New(v.client).System.Tables(v.ctx()); return err },
		func() (err error) {
			page, err = admin.New(v.client).Policy.Versions(v.ctx(), client.Page{Limit: 20})
			return err
		},
	)
	p.Versions = page.Versions
	return p, err
}

// tryPolicy says what a policy would change, and changes nothing; or puts it in force.
func tryPolicy(v *Request) (any, error) {
	p, err := readPolicy(v)
	if err != nil {
		return nil, err
	}
	p.Draft = v.r.PostFormValue("text")
	plan, err := admin.New(v.client).Policy.Plan(v.ctx(), p.Draft)
	if p.refused(err) {
		return v.again("policy", p)
	}
	if err != nil {
		return nil, err
	}
	if v.r.PostFormValue("apply") == "" {
		if err := json.Unmarshal(plan, &p.Plan); err != nil {
			return nil, err
		}
		v.sent = true
		v.console.pages.show(v, http.StatusOK, "policy", p)
		return nil, nil
	}
	_, err = admin.New(v.client).Policy.Apply(v.ctx(), wire.PolicyChange{Text: p.Draft, Rebase: v.r.PostFormValue("rebase") != "", Reason: v.text("reason")})
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
	if !ok || e.Code != fault.CodeValidationError && statusOf(e) != http.StatusConflict {
		return false
	}
	p.Findings, p.Problem = e.Fields(), e.Message
	return true
}

// policyPlan is what a policy would change of the open errors.
type policyPlan struct {
	Version string
	Open    int64
	Moved   int64 // would be judged by it
	Changed int64 // of these, in more than their version
	Changes []struct {
		Kind string
		N    int64    `json:"count"`
		IDs  []string `json:"error_ids"`
	}
	Tables []struct {
		Table         string
		Open, Changed int64
	}
	Kept []struct {
		Table, Reason string
		N             int64 `json:"count"`
	}
	Codes   []struct{ Code string }
	Adopted []struct{ Table, Source string }
}

// change says what happens to errors, by the kind of a change.
func change(kind string) string {
	words := map[string]string{
		"expires_sooner": "expire sooner", "expires_later": "expire later", "disposition": "are retried, parked, archived or ignored otherwise than now",
		"blocked": "begin to block their entity", "unblocked": "cease to block their entity", "owner": "have another owner or tier",
		"retries": "are retried more or less often, or at other times", "deadlines": "have other deadlines of review, escalation or reminder",
	}
	return cmp.Or(words[kind], kind)
}
