package api

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

type codesOut struct {
	Codes []codeOut `json:"codes" doc:"all of them, sorted"`
}

func (a *API) listCodes(*httpapi.Call, *struct{}) (codesOut, error) {
	return codesOut{Codes: httpapi.Each(a.Registrar.Codes().All(), codeOf)}, nil
}

type codeIn struct {
	Code string `path:"code" doc:"a code or an alias, in either case"`
}

// codeOut is a code with what its class means for a caller.
type codeOut struct {
	fault.Definition
	Retryable bool `json:"retryable" doc:"whether trying again can succeed without a change; a conditional code says false, and its condition"`
}

func codeOf(def *fault.Definition) codeOut { return codeOut{*def, def.Retryable(false)} }

// lookupCode finds a code or an alias, in either case of ASCII.
func (a *API) lookupCode(text string) (*fault.Definition, bool) {
	code, err := recoup.ParseCode(text)
	if err != nil {
		return nil, false
	}
	return a.Registrar.Codes().Lookup(code)
}

func (a *API) showCode(_ *httpapi.Call, in *codeIn) (codeOut, error) {
	def, ok := a.lookupCode(in.Code)
	if !ok {
		return codeOut{}, sqldb.ErrNotFound
	}
	return codeOf(def), nil
}

type putCodeIn struct {
	codeIn
	Body fault.Definition
}

// checkCode says which parts of a definition are missing.
func (a *API) checkCode(_ *httpapi.Call, in *putCodeIn) error {
	var bad fault.FieldErrors
	_, err := recoup.ParseCode(in.Code)
	if err != nil {
		bad.Addf("code", "pattern", "%s", err.Error())
	}
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"code", in.Body.Code == "" && err == nil}, {"domain", in.Body.Domain == ""}, {"class", in.Body.Class == ""}, {"category", in.Body.Category == ""},
		{"severity", in.Body.Severity == ""}, {"http_status", in.Body.HTTPStatus == 0}, {"origin", in.Body.Origin == ""},
		{"description", in.Body.Description == ""}, {"causes", len(in.Body.Causes) == 0}, {"resolution", len(in.Body.Resolution) == 0},
	} {
		if part.missing {
			bad.Addf(part.name, "required", "%s is required", part.name)
		}
	}
	return bad.Err()
}

func (a *API) putCode(c *httpapi.Call, in *putCodeIn) (*fault.Definition, error) {
	if err := a.checkCode(c, in); err != nil {
		return nil, err
	}
	def := in.Body
	code, err := recoup.ParseCode(in.Code)
	if err != nil {
		return nil, err
	}
	if def.Code != code {
		return nil, fault.BadField("code", "match", "the body names another code than the address")
	}
	def.Code = code
	if err := a.Registrar.RegisterCode(c.Context(), def, c.Act("")); err != nil {
		return nil, err
	}
	stored, _ := a.Registrar.Codes().Lookup(code)
	return stored, nil
}

type classifyIn struct{ Body fault.RawFailure }

func (a *API) classify(c *httpapi.Call, in *classifyIn) (fault.Classified, error) {
	verdict, err := a.judge(c, in)
	if err != nil {
		return fault.Classified{}, err
	}
	def, ok := a.Registrar.Codes().Lookup(verdict.Code)
	if !ok {
		def, _, _ = a.Registrar.Codes().Fold("UNREGISTERED_CODE")
	}
	out := fault.Classified{
		Code: verdict.Code, Retryable: verdict.Retryable(repeatable(in.Body.Idempotent)...), Scope: verdict.Scope,
		RetryAfter: int(verdict.RetryAfter.Seconds()), Details: verdict.Details, Definition: *def,
	}
	if def.Condition != recoup.ConditionNone {
		out.Conditions = append(out.Conditions, def.Condition)
	}
	return out, nil
}

// repeatable is what a caller has proven by what it says of its work.
func repeatable(idempotent *bool) []recoup.Condition {
	switch {
	case idempotent == nil:
		return nil
	case *idempotent:
		return []recoup.Condition{recoup.ConditionIdempotencyKey}
	}
	return []recoup.Condition{fault.NotIdempotent()}
}

// described is an error that has nothing but its SQLSTATE and its message.
type described struct{ state, message string }

func (e described) Error() string { return cmp.Or(e.message, "SQLSTATE "+e.state) }

func (e described) SQLState() string { return e.state }

func (a *API) checkClassify(c *httpapi.Call, in *classifyIn) error {
	_, err := a.judge(c, in)
	return err
}

func (a *API) judge(c *httpapi.Call, in *classifyIn) (fault.Verdict, error) {
	b := in.Body
	header := http.Header{}
	for name, value := range b.Headers {
		header.Set(name, value)
	}
	if b.Provider != "" {
		return judgeProvider(&b, header, c.Now)
	}
	registry := a.Registrar.Codes()
	switch {
	case b.Status != 0 && (b.Status < 100 || b.Status > 599):
		return fault.Verdict{}, badStatus(b.Status, 599)
	case b.Status != 0:
		return registry.ClassifyResponse(b.Status, header, []byte(b.Body), c.Now), nil
	case b.SQLState != "":
		return registry.Classify(described{state: b.SQLState}), nil
	}
	return fault.Verdict{}, fault.BadField("status", "required", "give an HTTP status, a sqlstate, or a provider with its message")
}

// judgeProvider classifies a failure by the rules of its provider. Some providers answer
// with a status that HTTP does not have, such as 999.
func judgeProvider(b *fault.RawFailure, header http.Header, now time.Time) (fault.Verdict, error) {
	provider, ok := fault.DefaultProviders().Lookup(b.Provider)
	if !ok {
		return fault.Verdict{}, fault.BadField("provider", "known", "provider must be one of %s", strings.Join(fault.DefaultProviders().Names(), ", "))
	}
	clean := func(s string) string {
		s, _ = redact.Default().String(s)
		return s
	}
	switch {
	case b.Status != 0 && (b.Status < 100 || b.Status > 999):
		return fault.Verdict{}, badStatus(b.Status, 999)
	case b.Status != 0:
		return provider.ClassifyResponse(b.Status, header, []byte(b.Body), now, clean), nil
	case b.SQLState != "" || b.Message != "":
		return provider.Classify(described{b.SQLState, b.Message}, clean), nil
	}
	return fault.Verdict{}, fault.BadField("status", "required", "give the HTTP status, the sqlstate or the message of the provider's failure")
}

func badStatus(got, highest int) error {
	return fault.BadField("status", "range", "status must be an HTTP status, from 100 to %d; got %d", highest, got)
}
