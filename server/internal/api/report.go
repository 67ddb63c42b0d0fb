package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// correlated is a report as the engine takes it. One that is correlated with nothing
// is with its request.
func correlated(c *httpapi.Call, r recoup.Report) recoup.Report {
	if r.CorrelationID.IsZero() {
		r.CorrelationID = c.TraceID()
	}
	return r
}

type reportIn struct{ Body recoup.Report }

func (a *API) report(c *httpapi.Call, in *reportIn) (recoup.Reported, error) {
	receipt, err := c.Receipt(0)
	if err != nil {
		return recoup.Reported{}, err
	}
	out, err := a.Engine.Report(c.Context(), c.Caller, []recoup.Report{correlated(c, in.Body)}, receipt)
	if err != nil {
		return recoup.Reported{}, err
	}
	out[0].Error = out[0].Error.Public()
	return out[0].Reported, out[0].Err
}

func (a *API) checkReport(c *httpapi.Call, in *reportIn) error {
	r := correlated(c, in.Body)
	return a.Engine.CheckReport(&r)
}

type reportBatchIn struct{ Body recoup.ReportBatch }

// The shape and the rules of one report among many.
var (
	reportShape = httpapi.ShapeOf[recoup.Report]()
	reportRules = httpapi.RulesOf[recoup.Report]()
)

// reportMany is the route of many reports. What is wrong with one of them, even if it
// cannot be read at all, takes nothing from the others.
func reportMany() *httpapi.Route {
	r := httpapi.WithCheck(httpapi.Op(http.MethodPost, "/v1/errors/batch", "Report failures in bulk; items succeed or fail independently", (*API).reportBatch), (*API).checkReports)
	return httpapi.WithAnswer(r, func(a *API, c *httpapi.Call, out any, err error) (any, error) {
		var body struct{ Reports []json.RawMessage }
		if !httpapi.Within(err, "reports") || json.Unmarshal(c.Body, &body) != nil {
			return out, err
		}
		reports, wrong, late := a.readReports(c, body.Reports)
		if late != nil {
			return nil, late
		}
		if !slices.Contains(wrong, nil) {
			return out, c.WithValues(cmp.Or(joined(wrong), err)) // there is none to be served
		}
		return a.reportItems(c, reports, wrong)
	})
}

// readReports reads reports of which some are none, each by itself, in turns of the key.
func (a *API) readReports(c *httpapi.Call, items []json.RawMessage) ([]recoup.Report, []error, error) {
	reports, wrong, listed := make([]recoup.Report, len(items)), make([]error, len(items)), 0
	err := turn.Each(c.Context(), len(items), func(i int) error {
		r := httpapi.Reading{At: reportAt(i), Listed: &listed}
		wrong[i] = r.Item(reportShape, items[i], &reports[i])
		if r.Found.Len() > 0 && !r.Void && !r.Brief() {
			r.Found.Merge(httpapi.Located(r.At, a.checkItem(c, reports[i])))
			wrong[i] = r.Found.Err()
		}
		return nil
	})
	return reports, wrong, err
}

// checkItem says everything that is wrong with a report of the right shape.
func (a *API) checkItem(c *httpapi.Call, r recoup.Report) error {
	var found fault.FieldErrors
	if !found.Merge(httpapi.CheckRules(reportRules, reflect.ValueOf(r))) {
		return a.checkReport(c, &reportIn{r})
	}
	found.Merge(a.checkReport(c, &reportIn{r}))
	return found.Err()
}

func (a *API) checkReports(c *httpapi.Call, in *reportBatchIn) error {
	return httpapi.CheckItems(c.Context(), "reports", in.Body.Reports, reportRules, func(r *recoup.Report) error { return a.checkReport(c, &reportIn{*r}) })
}

// joined is everything that is wrong with the items of a batch as one failure.
func joined(wrong []error) error {
	var found fault.FieldErrors
	for _, err := range wrong {
		found.Merge(err)
	}
	return found.Err()
}

func reportAt(i int) string { return "reports[" + strconv.Itoa(i) + "]" }

func (a *API) reportBatch(c *httpapi.Call, in *reportBatchIn) (recoup.ReportedBatch, error) {
	return a.reportItems(c, in.Body.Reports, make([]error, len(in.Body.Reports)))
}

// reportItems records the reports with which nothing is wrong yet.
func (a *API) reportItems(c *httpapi.Call, items []recoup.Report, wrong []error) (recoup.ReportedBatch, error) {
	receipts := make([]*store.Receipt, 0, len(items))
	answers, err := answerItems(c, len(items), func(i int) (r recoup.Report, err error) {
		if err = wrong[i]; err == nil {
			err = httpapi.CheckItem(reportRules, &items[i], func(r *recoup.Report) error { return a.checkReport(c, &reportIn{*r}) })
		}
		if err != nil {
			return r, c.WithValues(httpapi.Located(reportAt(i), err))
		}
		receipt, err := c.Receipt(i)
		receipts = append(receipts, receipt)
		return correlated(c, items[i]), err
	}, func(ctx context.Context, reports []recoup.Report) ([]engine.Reported, error) {
		return a.Engine.Report(ctx, c.Caller, reports, receipts...)
	}, func(i int, o *engine.Reported) (*recoup.Reported, error) {
		if o.Err != nil {
			return nil, c.WithValues(httpapi.Located(reportAt(i), o.Err))
		}
		o.Error = o.Error.Public()
		return &o.Reported, nil
	})
	return recoup.ReportedBatch{Items: answers}, err
}
