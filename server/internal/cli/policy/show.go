package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func show(streams command.Streams) *cobra.Command {
	var from command.PolicyFlags
	var file bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the policy as tables: retries, escalation, alerts",
		Example: `  recoup policy show
  recoup policy show --policy policy.yaml --json
  recoup policy show --yaml --server http://127.0.0.1:8080`,
		Args: command.NoArgs,
	}
	cmd.Flags().BoolVar(&file, "yaml", false, "print the policy file as it was written, with its comments")
	return from.Offline(streams, cmd, command.One, func(_ context.Context, s *command.Session, _ []string) error {
		switch {
		case file:
			_, err := io.WriteString(s.Out, from.Policy.Text())
			return err
		case s.Machine():
			return s.Print(viewPolicy(from.Policy))
		}
		return showPolicy(s.Streams, from.Policy, from.Name)
	})
}

// showPolicy prints the policy as tables.
func showPolicy(s command.Streams, p *policy.Policy, name string) error {
	b := command.Page{Width: s.Width}
	b.Heading("POLICY " + p.Version)
	b.Text(strings.Join(present(name, prefixed("effective ", p.EffectiveFrom), prefixed("authority ", p.Authority)), ", "))
	showTiers(&b, p)
	showDispositions(&b, p)
	showTables(&b, p)
	showHubs(&b, p)
	showRetries(&b, p)
	showReasons(&b, p)
	showLadder(&b, p)
	showAlerts(&b, p)
	showNotifications(&b, p)
	_, err := io.WriteString(s.Out, b.String())
	return err
}

func showTiers(b *command.Page, p *policy.Policy) {
	b.Heading("TTL TIERS")
	rows := [][]string{{"TIER", "LASTS", "USE"}}
	for _, t := range p.Tiers {
		lasts := "forever"
		if t.TTL > 0 {
			lasts = policy.FormatDuration(t.TTL)
		}
		rows = append(rows, []string{t.Name, lasts, cmp.Or(t.Use, "none")})
	}
	b.Grid(rows...)
}

func showReasons(b *command.Page, p *policy.Policy) {
	b.Heading("PARKING REASONS")
	rows := [][]string{{"REASON", "MEANING"}}
	for _, r := range p.Reasons {
		rows = append(rows, []string{r.Name, r.Text})
	}
	b.Grid(rows...)
}

// columnOrder shows what is normal first, then the exceptions.
var columnOrder = []recoup.Severity{recoup.Medium, recoup.Critical, recoup.High, recoup.Low}

func showDispositions(b *command.Page, p *policy.Policy) {
	b.Heading("ACTION AND TTL BY SEVERITY")
	rows := [][]string{{"TABLE", "MEDIUM, NONE", "CRITICAL", "HIGH", "LOW"}}
	for _, t := range p.Tables() {
		row := []string{t.Name}
		for _, s := range columnOrder {
			row = append(row, cell(ask(p, t, s)))
		}
		rows = append(rows, row)
	}
	b.Grid(rows...)
	b.Text("* blocks its entity. ! should be parked, which the table does not allow: the owner is notified.")
	b.Text("This holds for retryable failures. Fatal and structural ones are parked where these are retried.")
	if len(p.DeadTables) > 0 {
		names := make([]string, len(p.DeadTables))
		for i, d := range p.DeadTables {
			names[i] = d.Name
		}
		b.Text(fmt.Sprintf("Dead tables, whose reports go to %s: %s.", p.OrphanTable.Name, strings.Join(names, ", ")))
	}
}

// ask resolves a plain, retryable failure in a table.
func ask(p *policy.Policy, t *policy.Table, s recoup.Severity) policy.Effective {
	return p.Resolve(policy.Question{
		Table: t.Name, Entity: true, Class: recoup.ClassShortDelay, Category: recoup.Operational, Severity: s,
	})
}

func cell(e policy.Effective) string {
	ttl := "never"
	if e.TTL > 0 {
		ttl = policy.FormatDuration(e.TTL)
	}
	marks := ""
	if e.Blocks {
		marks += "*"
	}
	if e.NotifyOwner {
		marks += "!"
	}
	return fmt.Sprintf("%s %s%s", e.Action, ttl, marks)
}

func showTables(b *command.Page, p *policy.Policy) {
	b.Heading("TABLES")
	rows := [][]string{{"TABLE", "HUB", "ENTITY", "ALLOWED", "KEPT"}}
	for _, t := range p.Tables() {
		entity, kept := t.EntityColumn, "none"
		if t.EntityOptional {
			entity = "(" + entity + ")"
		}
		if t.Retention > 0 {
			kept = policy.FormatDuration(t.Retention)
		}
		rows = append(rows, []string{t.Name, t.Hub, entity, strings.ReplaceAll(command.Join(t.Allowed()), ",", ""), kept})
	}
	b.Grid(rows...)
	b.Text("An entity in brackets may be missing. KEPT is how long its archive is kept.")
	for _, t := range p.Tables() {
		if text := t.DescribeSource(); text != "" {
			b.Text(t.Name + ", where it is adopted: " + text + ".")
		}
	}
}

func showHubs(b *command.Page, p *policy.Policy) {
	b.Heading("HUBS")
	rows := [][]string{{"HUB", "TEAM", "LEAD", "OVERRIDES"}}
	for _, h := range p.Hubs {
		rows = append(rows, []string{h.ID, h.Team, h.Lead, overrides(h.Overrides)})
	}
	b.Grid(rows...)
	for _, h := range p.Hubs {
		for _, owned := range []struct {
			what  string
			names []string
		}{{"services", h.Services}, {"pipelines", h.Pipelines}} {
			if len(owned.names) > 0 {
				b.Text(fmt.Sprintf("The %s of %s: %s.", owned.what, h.ID, command.Join(owned.names)))
			}
		}
	}
}

// overrides says in a few words what a hub decides otherwise.
func overrides(o policy.Overrides) string {
	var parts []string
	if o.MaxRetries > 0 {
		parts = append(parts, fmt.Sprintf("%d retries", o.MaxRetries))
	}
	if o.TTLTier != "" {
		parts = append(parts, "TTL "+o.TTLTier)
	}
	for _, f := range o.Families {
		parts = append(parts, fmt.Sprintf("parks at %s %d", f.Name, f.After))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func showRetries(b *command.Page, p *policy.Policy) {
	b.Heading("RETRIES")
	rows := [][]string{{"CATEGORY", "RETRIES", "WAITS", "WINDOW"}}
	for _, c := range p.Categories {
		window := "none"
		if c.Window > 0 {
			window = policy.FormatDuration(c.Window)
		}
		rows = append(rows, []string{string(c.Category), fmt.Sprint(c.MaxRetries), policy.DescribeSchedule(c.Schedule), window})
	}
	b.Grid(rows...)
	var floors []string
	for _, class := range recoup.Classes() {
		if floor, ok := p.Floors[class]; ok {
			floors = append(floors, fmt.Sprintf("%s %s", class, policy.FormatDuration(floor)))
		}
	}
	b.Text("No wait is shorter than its class allows: " + strings.Join(floors, ", ") + ".")
}

func showLadder(b *command.Page, p *policy.Policy) {
	b.Heading("ESCALATION OF PARKED ERRORS")
	rows := [][]string{{"TIER", "OWNER", "AFTER", "REVIEW WITHIN"}}
	for _, r := range p.Ladder {
		rows = append(rows, []string{fmt.Sprint(r.Tier), r.Owner, policy.FormatDuration(r.After), policy.FormatDuration(r.ReviewWithin)})
	}
	b.Grid(rows...)
}

func showAlerts(b *command.Page, p *policy.Policy) {
	b.Heading("ALERTS")
	rows := [][]string{{"RULE", "FOR EACH", "SEVERITY", "ACTION", "WHEN"}}
	for _, a := range p.Alerts {
		scope := string(a.Per)
		if a.Hub != "" {
			scope = a.Hub
		}
		rows = append(rows, []string{a.Name, scope, string(a.Severity), string(a.Action), a.Condition()})
	}
	b.Grid(rows...)
	b.Text(fmt.Sprintf("Rates with fewer than %d samples do not alert. Firing alerts notify again after %s.", p.MinSamples, policy.FormatDuration(p.Repeat)))
	for _, g := range p.Providers {
		back := "only by hand"
		if g.BackAfter > 0 {
			back = "after " + policy.FormatDuration(g.BackAfter) + " of quiet"
		}
		b.Text(fmt.Sprintf("Providers of %s: %s; back to the first %s.", g.Name, strings.Join(g.Members, ", then "), back))
	}
}

func showNotifications(b *command.Page, p *policy.Policy) {
	b.Heading("NOTIFICATIONS")
	rows := [][]string{{"TEAM", "CHANNEL", "FROM", "KINDS"}}
	add := func(team string, routes []policy.Route) {
		for _, r := range routes {
			rows = append(rows, []string{team, r.Channel, string(r.From), cmp.Or(command.Join(r.Kinds), "all")})
		}
	}
	for _, t := range p.Notifications.Teams {
		add(t.Team, t.Routes)
	}
	add("all others", p.Notifications.Default)
	b.Grid(rows...)
	for _, kind := range wire.NoticeKinds() {
		if every := p.Notifications.Digests[kind]; every > 0 {
			b.Text(fmt.Sprintf("%s notifies in digests, every %s.", kind, policy.FormatDuration(every)))
		}
	}
}

// prefixed returns s after its prefix, or nothing for nothing.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// present drops what is empty.
func present(parts ...string) []string {
	kept := parts[:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return kept
}
