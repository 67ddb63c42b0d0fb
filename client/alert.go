package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
)

// AlertPage is a page of alerts, newest first.
type AlertPage struct {
	Alerts []recoup.Alert `json:"alerts" doc:"this page of the list"`
	Next   string         `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// AlertFilter selects alerts. All fields that are set must match.
type AlertFilter struct {
	State recoup.AlertState `query:"state" enum:"PENDING,FIRING,RESOLVED" doc:"only alerts in this state; not together with open"`
	Open  bool              `query:"open" doc:"PENDING or FIRING"`
	Rule  string            `query:"rule" maxLength:"100" doc:"only alerts of this rule"`
	Scope string            `query:"scope" maxLength:"200" doc:"only alerts of this hub, service or provider"`
}

// Alerts lists alerts, newest first.
func (c *Client) Alerts(ctx context.Context, f AlertFilter, p Page, options ...CallOption) (AlertPage, error) {
	q := query{}.text("state", string(f.State)).flag("open", f.Open).text("rule", f.Rule).text("scope", f.Scope)
	return get[AlertPage](ctx, c, "/v1/alerts", p.query(q), options)
}

// AllAlerts walks alerts, newest first, page by page. It ends with the first
// failure.
func (c *Client) AllAlerts(ctx context.Context, f AlertFilter) iter.Seq2[recoup.Alert, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.Alert, string, error) {
		page, err := c.Alerts(ctx, f, p)
		return page.Alerts, page.Next, err
	})
}

// Alert returns one alert.
func (c *Client) Alert(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Alert, error) {
	return get[recoup.Alert](ctx, c, "/v1/alerts/"+id.String(), nil, options)
}

// SilencePage is a page of silences, newest first.
type SilencePage struct {
	Silences []recoup.Silence `json:"silences" doc:"this page of the list"`
	Next     string           `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NewSilence asks for a silence: of a rule, of a scope, of a rule for a scope, or,
// if All says so, of everything.
type NewSilence struct {
	Rule   string    `json:"rule,omitempty" maxLength:"100" doc:"a rule of the policy; none: any"`
	Scope  string    `json:"scope,omitempty" maxLength:"200" doc:"a hub, service or provider; none: any"`
	All    bool      `json:"all,omitempty" doc:"everything is meant"`
	Until  time.Time `json:"until" doc:"at most 30 days from now"`
	Reason string    `json:"reason" maxLength:"1000" doc:"others read there why they are not notified"`
}

// Silences lists active silences, or, with past, all of them, newest first.
func (c *Client) Silences(ctx context.Context, past bool, p Page, options ...CallOption) (SilencePage, error) {
	return get[SilencePage](ctx, c, "/v1/silences", p.query(query{}.flag("past", past)), options)
}

// AddSilence keeps people from being notified of alerts. The call is not retried where
// it may have taken effect: two silences would have to be ended instead of one.
func (c *Client) AddSilence(ctx context.Context, s NewSilence, options ...CallOption) (recoup.Silence, error) {
	return call[recoup.Silence](ctx, c, request{method: http.MethodPost, path: "/v1/silences", body: s, safety: once}, options)
}

// EndSilence ends a silence before its time. Ending it again changes nothing.
func (c *Client) EndSilence(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Silence, error) {
	return call[recoup.Silence](ctx, c, request{method: http.MethodDelete, path: "/v1/silences/" + id.String()}, options)
}

// Metrics are the current values of the policy's metrics.
type Metrics struct {
	At      time.Time `json:"at" doc:"when they were measured"`
	Metrics []Metric  `json:"metrics" doc:"one for each metric and scope"`
}

// Metric is the value of a metric for a table, a hub, a service, a provider, or the
// whole platform.
type Metric struct {
	Metric    string  `json:"metric" doc:"its name in the policy"`
	Per       string  `json:"per" enum:"platform,hub,table,service,provider" doc:"what it is counted for"`
	Scope     string  `json:"scope,omitempty" doc:"which table, hub, service or provider; none: the platform"`
	Hub       string  `json:"hub,omitempty" doc:"the hub that a table or hub metric belongs to"`
	Value     float64 `json:"value" doc:"a share for rates: 5 % is 0.05"`
	Samples   int64   `json:"samples" doc:"of how many samples a rate or an average is made"`
	Window    string  `json:"window,omitempty" doc:"the time that it is counted over"`
	Threshold float64 `json:"threshold,omitempty" doc:"the value above which a rule holds"`
	Above     bool    `json:"above" doc:"whether the value is above the threshold; false where the metric has none"`
	Few       bool    `json:"few,omitempty" doc:"there are too few samples to be meaningful"`
}

// Metrics returns the metrics of the policy, for all that the key may see.
func (c *Client) Metrics(ctx context.Context, options ...CallOption) (Metrics, error) {
	return get[Metrics](ctx, c, "/v1/stats/metrics", nil, options)
}

// SwitchProvider switches a group of providers to another of its members by hand. It
// stays there until the next switch, by a person or by an alert that fires later.
func (c *Client) SwitchProvider(ctx context.Context, group string, s ProviderSwitch, options ...CallOption) (recoup.Provider, error) {
	path := "/v1/providers/" + url.PathEscape(group) + "/switch"
	return call[recoup.Provider](ctx, c, request{method: http.MethodPost, path: path, body: s}, options)
}
