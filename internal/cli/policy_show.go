package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/internal/policy"
)

func policyShow(streams Streams) *cobra.Command {
	var file policyFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the policy as tables: dispositions, retries, escalation, alerts",
		Example: `  recoup policy show
  recoup policy show --policy policy.yaml --json`,
		Args: noArgs,
	}
	file.add(cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		p, name, err := file.load(streams)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(streams.Out, viewPolicy(p))
		}
		return showPolicy(streams.Out, p, name)
	}
	return cmd
}

// showPolicy prints the policy as tables.
func showPolicy(w io.Writer, p *policy.Policy, name string) error {
	var b page
	b.heading("POLICY " + p.Version)
	b.text(strings.Join(present(name, prefixed("effective ", p.EffectiveFrom), prefixed("authority ", p.Authority)), ", "))
	showDispositions(&b, p)
	showTables(&b, p)
	showHubs(&b, p)
	showRetries(&b, p)
	showLadder(&b, p)
	showAlerts(&b, p)
	showNotifications(&b, p)
	_, err := io.WriteString(w, b.String())
	return err
}

// columns prints rows of cells, aligned and indented. What does not fit the
// page in the last column goes on below itself.
func (p *page) columns(rows ...[]string) {
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		var margin strings.Builder
		margin.WriteString("  ")
		for i, width := range widths {
			fmt.Fprintf(&margin, "%-*s  ", width, row[i])
		}
		p.wrap(margin.String(), strings.Repeat(" ", utf8.RuneCountInString(margin.String())), row[len(widths)])
	}
}

// columnOrder shows what is normal first, then the exceptions.
var columnOrder = []recoup.Severity{recoup.Medium, recoup.Critical, recoup.High, recoup.Low}

func showDispositions(b *page, p *policy.Policy) {
	b.heading("DISPOSITION AND TTL BY SEVERITY")
	rows := [][]string{{"TABLE", "MEDIUM, NONE", "CRITICAL", "HIGH", "LOW"}}
	for _, t := range p.Tables() {
		row := []string{t.Name}
		for _, s := range columnOrder {
			row = append(row, cell(ask(p, t, s)))
		}
		rows = append(rows, row)
	}
	b.columns(rows...)
	b.text("* blocks its entity. ! should be parked, which the table does not allow: the owner is told.")
	b.text("This is for failures that can be retried. Fatal and structural ones are parked where these are retried.")
	if len(p.DeadTables) > 0 {
		names := make([]string, len(p.DeadTables))
		for i, d := range p.DeadTables {
			names[i] = d.Name
		}
		b.text(fmt.Sprintf("Dead tables, whose reports go to %s: %s.", p.OrphanTable.Name, strings.Join(names, ", ")))
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
		marks += " *"
	}
	if e.TellOwner {
		marks += " !"
	}
	return fmt.Sprintf("%s %s%s", e.Action, ttl, marks)
}

func showTables(b *page, p *policy.Policy) {
	b.heading("TABLES")
	rows := [][]string{{"TABLE", "HUB", "ENTITY", "ALLOWED", "KEPT"}}
	for _, t := range p.Tables() {
		entity, kept := t.EntityColumn, "none"
		if t.EntityOptional {
			entity = "(" + entity + ")"
		}
		if t.Retention > 0 {
			kept = policy.FormatDuration(t.Retention)
		}
		rows = append(rows, []string{t.Name, t.Hub, entity, strings.ReplaceAll(join(t.Allowed()), ",", ""), kept})
	}
	b.columns(rows...)
	b.text("An entity in brackets may be missing. Archives are kept for the time in the last column.")
}

func showHubs(b *page, p *policy.Policy) {
	b.heading("HUBS")
	rows := [][]string{{"HUB", "TEAM", "LEAD", "OVERRIDES"}}
	for _, h := range p.Hubs {
		rows = append(rows, []string{h.ID, h.Team, h.Lead, overrides(h.Overrides)})
	}
	b.columns(rows...)
	for _, h := range p.Hubs {
		for _, owned := range []struct {
			what  string
			names []string
		}{{"services", h.Services}, {"pipelines", h.Pipelines}} {
			if len(owned.names) > 0 {
				b.text(fmt.Sprintf("The %s of %s: %s.", owned.what, h.ID, join(owned.names)))
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

func showRetries(b *page, p *policy.Policy) {
	b.heading("RETRIES")
	rows := [][]string{{"CATEGORY", "RETRIES", "WAITS", "WINDOW"}}
	for _, c := range p.Categories {
		window := "none"
		if c.Window > 0 {
			window = policy.FormatDuration(c.Window)
		}
		rows = append(rows, []string{string(c.Category), fmt.Sprint(c.MaxRetries), policy.DescribeSchedule(c.Schedule), window})
	}
	b.columns(rows...)
	var floors []string
	for _, class := range recoup.Classes() {
		if floor, ok := p.Floors[class]; ok {
			floors = append(floors, fmt.Sprintf("%s %s", class, policy.FormatDuration(floor)))
		}
	}
	b.text("No wait is shorter than its class allows: " + strings.Join(floors, ", ") + ".")
}

func showLadder(b *page, p *policy.Policy) {
	b.heading("LADDER OF PARKED ERRORS")
	rows := [][]string{{"TIER", "OWNER", "AFTER", "REVIEW WITHIN"}}
	for _, r := range p.Ladder {
		rows = append(rows, []string{fmt.Sprint(r.Tier), r.Owner, policy.FormatDuration(r.After), policy.FormatDuration(r.ReviewWithin)})
	}
	b.columns(rows...)
}

func showAlerts(b *page, p *policy.Policy) {
	b.heading("ALERTS")
	rows := [][]string{{"RULE", "FOR EACH", "SEVERITY", "ACTION", "WHEN"}}
	for _, a := range p.Alerts {
		scope := string(a.Per)
		if a.Hub != "" {
			scope = a.Hub
		}
		rows = append(rows, []string{a.Name, scope, string(a.Severity), string(a.Action), a.Condition()})
	}
	b.columns(rows...)
	b.text(fmt.Sprintf("Rates are silent below %d samples. What goes on is told again after %s.", p.MinSamples, policy.FormatDuration(p.Repeat)))
	for _, g := range p.Providers {
		back := "only by hand"
		if g.BackAfter > 0 {
			back = "after " + policy.FormatDuration(g.BackAfter) + " of quiet"
		}
		b.text(fmt.Sprintf("Providers of %s: %s; back to the first %s.", g.Name, strings.Join(g.Members, ", then "), back))
	}
}

func showNotifications(b *page, p *policy.Policy) {
	b.heading("NOTIFICATIONS")
	rows := [][]string{{"TEAM", "CHANNEL", "FROM", "KINDS"}}
	add := func(team string, routes []policy.Route) {
		for _, r := range routes {
			rows = append(rows, []string{team, r.Channel, string(r.From), cmp.Or(join(r.Kinds), "all")})
		}
	}
	for _, t := range p.Notifications.Teams {
		add(t.Team, t.Routes)
	}
	add("all others", p.Notifications.Default)
	b.columns(rows...)
	for _, kind := range recoup.NoticeKinds() {
		if every := p.Notifications.Digests[kind]; every > 0 {
			b.text(fmt.Sprintf("%s is told in digests, every %s.", kind, policy.FormatDuration(every)))
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
