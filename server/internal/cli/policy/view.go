package policy

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// What `recoup policy --json` prints. Scripts rely on these names; durations
// are written as in the policy file.
type policyView struct {
	Version    string         `json:"version"`
	Effective  string         `json:"effective,omitempty"`
	Authority  string         `json:"authority,omitempty"`
	Tables     []tableView    `json:"tables"`
	DeadTables []string       `json:"dead_tables"`
	Orphans    string         `json:"orphan_table"`
	Categories []categoryView `json:"categories"`
	Ladder     []rungView     `json:"ladder"`
	Alerts     []alertView    `json:"alerts"`
	Providers  []providerView `json:"providers"`

	Notifications notificationView `json:"notifications"`
}

type tableView struct {
	Name           string                            `json:"name"`
	Hub            string                            `json:"hub"`
	Layer          policy.Layer                      `json:"layer"`
	EntityColumn   string                            `json:"entity_column"`
	EntityOptional bool                              `json:"entity_optional"`
	Allowed        []recoup.Action                   `json:"allowed"`
	Archive        string                            `json:"archive,omitempty"`
	Retention      string                            `json:"retention,omitempty"`
	Source         *wire.SourceRules                 `json:"source,omitempty"`
	Owners         []string                          `json:"owners"` // by tier, the system first
	BySeverity     map[recoup.Severity]effectiveView `json:"by_severity"`
}

// effectiveView is an answer of the policy.
type effectiveView struct {
	Table       string            `json:"table"`
	Orphaned    bool              `json:"orphaned"`
	Disposition recoup.Action     `json:"disposition"`
	ParkReason  recoup.ParkReason `json:"park_reason,omitempty"`
	NotifyOwner bool              `json:"notify_owner"`
	Page        bool              `json:"page"`
	TTLTier     string            `json:"ttl_tier"`
	TTL         string            `json:"ttl"` // "never" in INFINITE tables
	Blocks      bool              `json:"blocks"`
	MaxRetries  int               `json:"max_retries"` // as the stored error has it, also where its table does not allow RETRY
	Manual      bool              `json:"manual"`
	Floor       string            `json:"floor,omitempty"`
	Window      string            `json:"window,omitempty"`
	Family      string            `json:"family,omitempty"`
}

type categoryView struct {
	Category   recoup.Category `json:"category"`
	MaxRetries int             `json:"max_retries"`
	Waits      string          `json:"waits"`
	Window     string          `json:"window,omitempty"`
}

type rungView struct {
	Tier         int    `json:"tier"`
	Owner        string `json:"owner"`
	After        string `json:"after"`
	ReviewWithin string `json:"review_within"`
}

type alertView struct {
	Name     string             `json:"name"`
	When     string             `json:"when"`
	Per      policy.Scope       `json:"per"`
	Hub      string             `json:"hub,omitempty"`
	Severity wire.AlertSeverity `json:"severity"`
	Action   wire.AlertAction   `json:"action"`
	Repeat   string             `json:"repeat"`
}

type providerView struct {
	Group     string   `json:"group"`
	Members   []string `json:"members"`
	BackAfter string   `json:"back_after,omitempty"`
}

type notificationView struct {
	Default []routeView                `json:"default"`
	Teams   map[string][]routeView     `json:"teams"`
	Digests map[wire.NoticeKind]string `json:"digests"`
}

type routeView struct {
	Channel string            `json:"channel"`
	From    policy.Urgency    `json:"from"`
	Kinds   []wire.NoticeKind `json:"kinds,omitempty"` // none: all
}

func viewPolicy(p *policy.Policy) policyView {
	v := policyView{Version: p.Version, Effective: p.EffectiveFrom, Authority: p.Authority, Orphans: p.OrphanTable.Name, DeadTables: []string{}}
	for _, t := range p.Tables() {
		v.Tables = append(v.Tables, viewTable(p, t))
	}
	for _, d := range p.DeadTables {
		v.DeadTables = append(v.DeadTables, d.Name)
	}
	for _, c := range p.Categories {
		v.Categories = append(v.Categories, categoryView{c.Category, c.MaxRetries, policy.DescribeSchedule(c.Schedule), span(c.Window)})
	}
	for _, r := range p.Ladder {
		v.Ladder = append(v.Ladder, rungView{r.Tier, r.Owner, policy.FormatDuration(r.After), policy.FormatDuration(r.ReviewWithin)})
	}
	for _, a := range p.Alerts {
		v.Alerts = append(v.Alerts, alertView{a.Name, a.Condition(), a.Per, a.Hub, a.Severity, a.Action, policy.FormatDuration(a.Repeat)})
	}
	for _, g := range p.Providers {
		v.Providers = append(v.Providers, providerView{g.Name, g.Members, span(g.BackAfter)})
	}
	v.Notifications = viewNotifications(&p.Notifications)
	return v
}

func viewNotifications(n *policy.Notifications) notificationView {
	v := notificationView{viewRoutes(n.Default), map[string][]routeView{}, map[wire.NoticeKind]string{}}
	for _, t := range n.Teams {
		v.Teams[t.Team] = viewRoutes(t.Routes)
	}
	for kind, every := range n.Digests {
		v.Digests[kind] = policy.FormatDuration(every)
	}
	return v
}

func viewRoutes(routes []policy.Route) []routeView {
	var list []routeView
	for _, r := range routes {
		list = append(list, routeView(r))
	}
	return list
}

func viewTable(p *policy.Policy, t *policy.Table) tableView {
	v := tableView{
		Name: t.Name, Hub: t.Hub, Layer: t.Layer, EntityColumn: t.EntityColumn, EntityOptional: t.EntityOptional,
		Allowed: t.Allowed(), Archive: t.Archive, Retention: span(t.Retention), BySeverity: map[recoup.Severity]effectiveView{},
	}
	if len(t.Source.Columns()) > 0 || t.Source.Removes() {
		v.Source = &t.Source
	}
	for tier := range recoup.MaxTier + 1 {
		v.Owners = append(v.Owners, t.Owner(tier))
	}
	for _, s := range recoup.Severities() {
		v.BySeverity[s] = viewEffective(ask(p, t, s))
	}
	return v
}

func viewEffective(e policy.Effective) effectiveView {
	v := effectiveView{
		Table: e.Table.Name, Orphaned: e.Orphaned, Disposition: e.Action, ParkReason: e.ParkReason,
		NotifyOwner: e.NotifyOwner, Page: e.Page, TTLTier: e.TTLTier, TTL: "never", Blocks: e.Blocks,
		MaxRetries: e.MaxRetries, Manual: e.Manual, Floor: policy.FormatDuration(e.Floor), Window: span(e.Window),
	}
	if e.TTL > 0 {
		v.TTL = policy.FormatDuration(e.TTL)
	}
	if e.Family != nil {
		v.Family = e.Family.Name
	}
	return v
}

// span writes a duration, or nothing for none.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return policy.FormatDuration(d)
}
