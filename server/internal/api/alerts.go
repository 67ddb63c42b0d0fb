package api

import (
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// AlertStore is what the API asks of a store about alerts.
type AlertStore interface {
	store.FigureReader
	store.ForecastReader
	store.SeriesReader
	store.AlertReader
	store.AlertAdmin
}

// alertRoutes are about what is measured, who is notified, and which provider is used.
func alertRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.Op(get, "/v1/stats/metrics", "List metrics with their thresholds", (*API).metrics).Roles(httpapi.RoleOperator, httpapi.RoleReader).Load(httpapi.LoadPriority).Tag("alerts"),
		httpapi.Op(get, "/v1/alerts", "List alerts, newest first", (*API).listAlerts).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("alerts"),
		httpapi.Op(get, "/v1/alerts/{id}", "Show an alert", (*API).showAlert).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("alerts"),
		httpapi.Op(get, "/v1/silences", "List silences, newest first", (*API).listSilences).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("alerts"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/silences", "Silence alerts by rule, by scope or both", (*API).addSilence), (*API).checkSilence).Status(201).Roles(httpapi.RoleOperator).AllHubs().Load(httpapi.LoadPriority).Repeat(httpapi.RepeatNotIdempotent).Tag("alerts"),
		httpapi.Op(del, "/v1/silences/{id}", "End a silence before its time", (*API).endSilence).Roles(httpapi.RoleOperator).AllHubs().Load(httpapi.LoadPriority).Tag("alerts"),
		httpapi.Op(get, "/v1/providers", "List the provider to use in each group", (*API).providers).Roles(everyone()...).Load(httpapi.LoadPriority).Tag("alerts"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/providers/{group}/switch", "Switch a group to another provider", (*API).switchProvider), (*API).checkProvider).Roles(httpapi.RoleOperator).AllHubs().Load(httpapi.LoadPriority).Tag("alerts"),
	}
}

type alertsIn struct {
	wire.AlertFilter
	httpapi.Page
}

func (a *API) listAlerts(c *httpapi.Call, in *alertsIn) (wire.AlertPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return wire.AlertPage{}, err
	}
	f := store.AlertFilter{Rule: in.Rule, Scope: a.scope(in.Scope)}
	switch {
	case in.Open && in.State != "":
		return wire.AlertPage{}, fault.BadField("open", "exclusive", "open stands for two states; give it or state")
	case in.Open:
		f.States = []wire.AlertState{wire.AlertPending, wire.AlertFiring}
	case in.State != "":
		f.States = []wire.AlertState{in.State}
	}
	found, cursor, err := a.Store.Alerts(c.Context(), f, at)
	if err != nil {
		return wire.AlertPage{}, err
	}
	return wire.AlertPage{Alerts: httpapi.Listed(found), Next: httpapi.NextCursor(cursor)}, a.markSilenced(c, found)
}

func (a *API) showAlert(c *httpapi.Call, in *httpapi.IDParam) (wire.Alert, error) {
	found, err := a.Store.Alert(c.Context(), in.ID)
	if err != nil {
		return found, err
	}
	one := []wire.Alert{found}
	err = a.markSilenced(c, one)
	return one[0], err
}

// markSilenced says of which alerts nobody is notified at the moment.
func (a *API) markSilenced(c *httpapi.Call, list []wire.Alert) error {
	silences, _, err := a.Store.Silences(c.Context(), c.Now, sqldb.Page{Limit: sqldb.MaxPage})
	for i := range list {
		covered := func(s wire.Silence) bool { return s.Covers(&list[i], c.Now) }
		list[i].Silenced = list[i].State != wire.AlertResolved && slices.ContainsFunc(silences, covered)
	}
	return err
}

type silencesIn struct {
	Past bool `query:"past" doc:"those that are over too"`
	httpapi.Page
}

func (a *API) listSilences(c *httpapi.Call, in *silencesIn) (wire.SilencePage, error) {
	at, err := in.StorePage()
	if err != nil {
		return wire.SilencePage{}, err
	}
	now := c.Now
	if in.Past {
		now = time.Time{}
	}
	found, cursor, err := a.Store.Silences(c.Context(), now, at)
	return wire.SilencePage{Silences: httpapi.Listed(found), Next: httpapi.NextCursor(cursor)}, err
}

// maxSilence is how long a silence lasts at most: one that is forgotten ends.
const maxSilence = 30 * 24 * time.Hour

type newSilenceIn struct{ Body wire.NewSilence }

func (a *API) addSilence(c *httpapi.Call, in *newSilenceIn) (wire.Silence, error) {
	if err := a.checkSilence(c, in); err != nil {
		return wire.Silence{}, err
	}
	s := wire.Silence{ID: a.IDs.New(c.Now), Rule: in.Body.Rule, Scope: in.Body.Scope, Until: in.Body.Until}
	return a.Store.AddSilence(c.Context(), s, c.Act(in.Body.Reason))
}

func (a *API) checkSilence(c *httpapi.Call, in *newSilenceIn) error {
	var bad fault.FieldErrors
	complain := func(field, constraint, message string) {
		bad.Addf(field, constraint, "%s", message)
	}
	s := &in.Body
	s.Scope = a.scope(s.Scope)
	if named := s.Rule != "" || s.Scope != ""; named == s.All {
		complain("rule", "required", "name a rule or a scope, or say with all that everything is meant")
	}
	p := a.Engine.Policies.Current()
	if names := httpapi.Each(p.Alerts, func(r policy.Alert) string { return r.Name }); s.Rule != "" && !slices.Contains(names, s.Rule) {
		complain("rule", "known", "the policy has no alert rule of that name; it has "+strings.Join(names, ", "))
	} else if scopes, finite := scopesOf(p, s.Rule); s.Scope != "" && check.Identifier("scope", s.Scope) == nil && finite && !slices.Contains(scopes, s.Scope) {
		message := "what is to be silenced is counted for everything together, and has no scope"
		if len(scopes) > 0 {
			message = "the policy has no such scope; expected one of " + strings.Join(scopes, ", ")
		}
		complain("scope", "known", message)
	}
	if !s.Until.After(c.Now) || s.Until.Sub(c.Now) > maxSilence {
		complain("until", "range", "until must be a time of the next 30 days")
	}
	if strings.TrimSpace(s.Reason) == "" {
		complain("reason", "required", "reason is required: others read there why they are not notified")
	}
	bad.Merge(check.Identifier("scope", s.Scope))
	bad.Merge(check.Reason(s.Reason))
	return bad.Err()
}

// scope is what a rule is judged for, as callers name it: a hub by its id or its name, or
// anything else.
func (a *API) scope(word string) string {
	if id, err := a.hub(word); err == nil {
		return id
	}
	return word
}

// scopesOf lists what a rule can be silenced for, or every rule if none is named.
// It is not finite where a service or a provider may have any name.
func scopesOf(p *policy.Policy, rule string) (scopes []string, finite bool) {
	for _, r := range p.Alerts {
		switch {
		case rule != "" && r.Name != rule, r.Per == policy.PerPlatform:
		case r.Per != policy.PerHub:
			return nil, false
		case r.Hub != "":
			scopes = append(scopes, r.Hub)
		default:
			scopes = append(scopes, httpapi.Each(p.Hubs, func(h *policy.Hub) string { return h.ID })...)
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), true
}

func (a *API) endSilence(c *httpapi.Call, in *httpapi.IDParam) (wire.Silence, error) {
	return a.Store.EndSilence(c.Context(), in.ID, c.Act(""))
}

func (a *API) metrics(c *httpapi.Call, _ *struct{}) (wire.Metrics, error) {
	figures, err := alert.Load(c.Context(), a.Store, a.Engine.Policies.Current(), a.Registrar.Codes(), c.Now)
	if err != nil {
		return wire.Metrics{}, err
	}
	out := wire.Metrics{At: c.Now, Metrics: []wire.Metric{}}
	for _, r := range figures.Readings() {
		if len(c.Caller.Hubs) > 0 && !slices.Contains(c.Caller.Hubs, r.Hub) {
			continue // what belongs to no hub is for those who see all
		}
		m := wire.Metric{
			Metric: r.Metric, Per: string(r.Per), Scope: r.Scope, Hub: r.Hub, Value: r.Value, Samples: r.Samples,
			Threshold: r.Threshold, Above: r.Above, Few: r.Few,
		}
		if r.Window > 0 {
			m.Window = policy.FormatDuration(r.Window)
		}
		out.Metrics = append(out.Metrics, m)
	}
	return out, nil
}
