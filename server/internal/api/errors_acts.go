package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// required are the fields of a request that an act needs.
func required(act recoup.ActKind) (fields []string) {
	if act.Reason {
		fields = append(fields, "reason")
	}
	if act.Owner {
		fields = append(fields, "to")
	}
	return fields
}

type actIn struct {
	httpapi.IDParam
	Body recoup.Act
}

type bulkIn struct{ Body recoup.BulkAct }

// Instead implements [httpapi.Instead]: bulk acts took filters once.
func (bulkIn) Instead() map[string]string {
	instead := fmt.Sprintf("a bulk act takes ids, at most %d; to act on all errors that a filter selects, send the filter to POST /v1/operations", engine.MaxBulk)
	return map[string]string{"filter": instead, "all": instead}
}

// acts makes the routes of every act: on one error, and on many.
func acts() []*httpapi.Route {
	var list []*httpapi.Route
	for _, act := range recoup.Acts() {
		name := string(act.Name)
		input := func(said recoup.Act) lifecycle.Input { return lifecycle.NewAct(act.Name, "", said) }
		one := httpapi.Op(http.MethodPost, "/v1/errors/{id}/"+name, actTexts[act.Name].summary, func(a *API, c *httpapi.Call, in *actIn) (recoup.ActResult, error) {
			return a.act(c, in.ID, input(in.Body))
		}).Repeat(httpapi.RepeatKeyed)
		many := httpapi.Op(http.MethodPost, "/v1/errors/"+name, strings.ToUpper(name[:1])+name[1:]+" errors in bulk", func(a *API, c *httpapi.Call, in *bulkIn) (recoup.BulkResult, error) {
			return a.actOnMany(c, in.Body, act.Name)
		}).MaxBody(httpapi.BatchBody).Long().Repeat(httpapi.RepeatNotIdempotent)
		httpapi.WithCheck(one, func(a *API, _ *httpapi.Call, in *actIn) error { return a.Engine.CheckInput(input(in.Body)) })
		httpapi.WithCheck(many, func(a *API, _ *httpapi.Call, in *bulkIn) error { return a.checkBulk(in.Body, input(in.Body.Act)) })
		for _, rt := range []*httpapi.Route{one, many} {
			list = append(list, rt.Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Require(required(act)...).Tag("acts"))
		}
	}
	return list
}

func (a *API) act(c *httpapi.Call, id recoup.ID, in lifecycle.Input) (recoup.ActResult, error) {
	receipt, err := c.Receipt(0)
	if err != nil {
		return recoup.ActResult{}, err
	}
	out, err := a.Engine.One(c.Context(), c.Caller, engine.Act{ID: id, Input: in, Receipt: receipt})
	return acted(out), a.inReplay(c, id, err)
}

func acted(o store.Outcome) recoup.ActResult {
	return recoup.ActResult{Error: visible(o.Error)[0], Warning: string(o.Effects.Warning), Repeated: o.Repeated}
}

func (a *API) checkBulk(b recoup.BulkAct, in lifecycle.Input) error {
	var bad fault.FieldErrors
	on := engine.Bulk{IDs: b.IDs, Token: b.Token, Preview: b.Preview}
	bad.Merge(on.Check())
	bad.Merge(a.Engine.CheckInput(in))
	return bad.Err()
}

func (a *API) actOnMany(c *httpapi.Call, b recoup.BulkAct, name recoup.ActName) (recoup.BulkResult, error) {
	return a.bulk(c, b.Preview, func() (recoup.BulkResult, error) {
		return a.Engine.Bulk(c.Context(), c.Caller, engine.Bulk{
			Act: string(name), IDs: b.IDs, Token: b.Token, Preview: b.Preview, Input: lifecycle.NewAct(name, "", b.Act), Reason: b.Act.Reason,
		})
	})
}

// bulkAnswer says in words for operators why some were left alone. What was cut short has
// done a part of it.
func bulkAnswer(r recoup.BulkResult, err error) (recoup.BulkResult, error) {
	if err != nil && r.Applied+r.NotDone > 0 {
		return recoup.BulkResult{}, cutShort(err, map[string]any{"matched": r.Matched, "applied": r.Applied, "not_done": r.NotDone})
	}
	explain(r.Refused)
	return r, err
}

func explain(list []recoup.Refused) {
	for i := range list {
		list[i].Reason = publicReason(list[i].Err)
	}
}

// publicReason is why an error was left alone, in words for its operator.
func publicReason(err error) string {
	bad := fault.From(httpapi.AsFault(err))
	if fields := bad.Fields(); len(fields) > 0 {
		return fields[0].Message
	}
	return bad.Message
}

// Refusal says why an error was left alone: the code that callers see, and words for its
// operator.
func Refusal(err error) (recoup.Code, string) {
	return fault.From(httpapi.AsFault(err)).Code, publicReason(err)
}

// bulk does an act on many errors or dead letters. A preview reads up to 10,000 rows and
// changes nothing, so it takes a turn of the long reads.
func (a *API) bulk(c *httpapi.Call, preview bool, do func() (recoup.BulkResult, error)) (result recoup.BulkResult, err error) {
	if !preview {
		return bulkAnswer(do())
	}
	err = c.InLongTurn(func() error {
		result, err = bulkAnswer(do())
		return err
	})
	return result, err
}

// cutShort is the failure of something that was done in part. Its details say how
// far it came, because that much is done and stays done.
func cutShort(err error, far map[string]any) error {
	e := fault.From(httpapi.AsFault(err))
	for name, value := range far {
		e = e.With(name, value)
	}
	e.Message = "Partly applied: the details count what was done and stays done."
	return e
}
