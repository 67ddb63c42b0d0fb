package api

import (
	"reflect"
	"time"

	"recoup/client"
	"recoup/internal/engine"
	"recoup/internal/store"
)

// reportOf turns a report on the wire into the engine's. One that is correlated
// with nothing is with its request.
func (c *call) reportOf(r client.Report, receipt *store.Receipt) engine.Report {
	if r.CorrelationID.IsZero() {
		r.CorrelationID = c.trace()
	}
	return engine.Report{
		Table: r.Table, EntityID: r.EntityID, Code: r.Code, Severity: r.Severity, Message: r.Message,
		CorrelationID: r.CorrelationID, Attempt: r.LeaseToken, RetryAfter: seconds(r.RetryAfter), Proven: r.Proven,
		Service: r.Service, Endpoint: r.Endpoint, Region: r.Region, ExternalService: r.ExternalService,
		Tenant: r.Tenant, HTTPStatus: r.HTTPStatus, Details: r.Details, Receipt: receipt,
	}
}

// seconds is bounded, so that no number of seconds overflows.
func seconds(n int) time.Duration {
	const year = 365 * 24 * 3600
	return time.Duration(min(max(n, -1), year)) * time.Second
}

func reportedOf(o engine.Reported) client.Reported {
	return client.Reported{Error: visible(o.Error)[0], Superseded: o.Superseded, Redacted: o.Evidence, Repeated: o.Repeated}
}

type reportIn struct{ Body client.Report }

func (a *API) report(c *call, in *reportIn) (client.Reported, error) {
	receipt, err := c.receipt(0)
	if err != nil {
		return client.Reported{}, err
	}
	out, err := a.Engine.Report(c.r.Context(), c.caller, []engine.Report{c.reportOf(in.Body, receipt)})
	switch {
	case err != nil:
		return client.Reported{}, err
	case out[0].Err != nil:
		return client.Reported{}, out[0].Err
	}
	return reportedOf(out[0]), nil
}

func (a *API) checkReport(c *call, in *reportIn) error {
	r := c.reportOf(in.Body, nil)
	return a.Engine.CheckReport(&r)
}

type reportBatchIn struct{ Body client.ReportBatch }

// reportRules are the rules of one report among many.
var reportRules = rulesOf(reflect.TypeFor[client.Report]())

func (a *API) reportBatch(c *call, in *reportBatchIn) (client.ReportedBatch, error) {
	answer := client.ReportedBatch{Items: make([]client.Item[client.Reported], len(in.Body.Reports))}
	var reports []engine.Report
	var place []int
	for i, r := range in.Body.Reports {
		receipt, err := c.receipt(i)
		if err != nil {
			return client.ReportedBatch{}, err
		}
		if err := checkRules(reportRules, reflect.ValueOf(r)); err != nil {
			answer.Items[i].Failure = a.embed(c, err)
			continue
		}
		reports, place = append(reports, c.reportOf(r, receipt)), append(place, i)
	}
	out, err := a.Engine.Report(c.r.Context(), c.caller, reports)
	if err != nil {
		return client.ReportedBatch{}, err
	}
	for k := range out {
		item := &answer.Items[place[k]]
		if out[k].Err != nil {
			item.Failure = a.embed(c, out[k].Err)
			continue
		}
		reported := reportedOf(out[k])
		item.Result = &reported
	}
	return answer, nil
}
