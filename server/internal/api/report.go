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
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// correlated is a report as the engine takes it. One that is correlated with nothing
// is with its request.
func correlated(c *call, r recoup.Report) recoup.Report {
	if r.CorrelationID.IsZero() {
		r.CorrelationID = c.trace()
	}
	return r
}

type reportIn struct{ Body recoup.Report }

func (a *API) report(c *call, in *reportIn) (recoup.Reported, error) {
	receipt, err := c.receipt(0)
	if err != nil {
		return recoup.Reported{}, err
	}
	out, err := a.Engine.Report(c.Context(), c.caller, []recoup.Report{correlated(c, in.Body)}, receipt)
	if err != nil {
		return recoup.Reported{}, err
	}
	out[0].Error = out[0].Error.Public()
	return out[0].Reported, out[0].Err
}

func (a *API) checkReport(c *call, in *reportIn) error {
	r := correlated(c, in.Body)
	return a.Engine.CheckReport(&r)
}

type reportBatchIn struct{ Body client.ReportBatch }

// The shape and the rules of one report among many.
var (
	reportShape = shapeOf(reflect.TypeFor[recoup.Report]())
	reportRules = rulesOf(reflect.TypeFor[recoup.Report]())
)

// reportMany is the route of many reports. What is wrong with one of them, even if it
// cannot be read at all, takes nothing from the others.
func reportMany() *route {
	r := checked(operation(http.MethodPost, "/v1/errors/batch", "Report failures in bulk; items succeed or fail independently", (*API).reportBatch), (*API).checkReports)
	return amended(r, func(a *API, c *call, out any, err error) (any, error) {
		var body struct{ Reports []json.RawMessage }
		if !within(err, "reports") || json.Unmarshal(c.body, &body) != nil {
			return out, err
		}
		reports, wrong, late := a.readReports(c, body.Reports)
		if late != nil {
			return nil, late
		}
		if !slices.Contains(wrong, nil) {
			return out, c.illustrated(cmp.Or(joined(wrong), err)) // there is none to be served
		}
		return a.reportItems(c, reports, wrong)
	})
}

// readReports reads reports of which some are none, each by itself, in turns of the key.
func (a *API) readReports(c *call, items []json.RawMessage) ([]recoup.Report, []error, error) {
	reports, wrong, listed := make([]recoup.Report, len(items)), make([]error, len(items)), 0
	err := turn.Each(c.Context(), len(items), func(i int) error {
		r := reading{at: reportAt(i), listed: &listed}
		wrong[i] = r.item(reportShape, items[i], &reports[i])
		if r.found.Len() > 0 && !r.void && !r.brief() {
			r.found.Merge(located(r.at, a.checkItem(c, reports[i])))
			wrong[i] = r.found.Err()
		}
		return nil
	})
	return reports, wrong, err
}

// checkItem says everything that is wrong with a report of the right shape.
func (a *API) checkItem(c *call, r recoup.Report) error {
	var found fault.FieldErrors
	if !found.Merge(checkRules(reportRules, reflect.ValueOf(r))) {
		return a.checkReport(c, &reportIn{r})
	}
	found.Merge(a.checkReport(c, &reportIn{r}))
	return found.Err()
}

func (a *API) checkReports(c *call, in *reportBatchIn) error {
	return eachItem(c.Context(), "reports", in.Body.Reports, reportRules, func(r *recoup.Report) error { return a.checkReport(c, &reportIn{*r}) })
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

func (a *API) reportBatch(c *call, in *reportBatchIn) (client.ReportedBatch, error) {
	return a.reportItems(c, in.Body.Reports, make([]error, len(in.Body.Reports)))
}

// reportItems records the reports with which nothing is wrong yet.
func (a *API) reportItems(c *call, items []recoup.Report, wrong []error) (client.ReportedBatch, error) {
	receipts := make([]*store.Receipt, 0, len(items))
	answers, err := answerItems(c, len(items), func(i int) (r recoup.Report, err error) {
		if err = wrong[i]; err == nil {
			err = checkItemRules(reportRules, &items[i], func(r *recoup.Report) error { return a.checkReport(c, &reportIn{*r}) })
		}
		if err != nil {
			return r, c.illustrated(located(reportAt(i), err))
		}
		receipt, err := c.receipt(i)
		receipts = append(receipts, receipt)
		return correlated(c, items[i]), err
	}, func(ctx context.Context, reports []recoup.Report) ([]engine.Reported, error) {
		return a.Engine.Report(ctx, c.caller, reports, receipts...)
	}, func(i int, o *engine.Reported) (*recoup.Reported, error) {
		if o.Err != nil {
			return nil, c.illustrated(located(reportAt(i), o.Err))
		}
		o.Error = o.Error.Public()
		return &o.Reported, nil
	})
	return client.ReportedBatch{Items: answers}, err
}
