package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// planWidth is that of a plan: it is read in reviews as much as on terminals.
const planWidth = 80

// show prints a plan. One that cannot be applied ends the command with status 1.
func show(s *command.Session, p *define.Plan) error {
	if s.Machine() {
		if err := s.Print(p); err != nil {
			return err
		}
	} else {
		fmt.Fprint(s.Out, describe(p, s.Width))
	}
	if len(p.Refusals) > 0 {
		return command.ErrSilent
	}
	return nil
}

// refuse says why a plan cannot be applied.
func refuse(s *command.Session, p *define.Plan) error {
	page := &command.Page{Width: planWidth}
	refusals(page, harmless(p))
	fmt.Fprint(s.Err, lines(page.String()))
	return command.ErrSilent
}

// visible writes characters that a terminal would act on as escapes.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// harmless is a plan whose texts, which have names and values of other people, are visible.
func harmless(p *define.Plan) *define.Plan {
	safe := *p
	safe.Source, safe.Table.Name = visible(p.Source), visible(p.Table.Name)
	safe.Key, safe.Notes = slices.Clone(p.Key), slices.Clone(p.Notes)
	safe.Reading, safe.Refusals = slices.Clone(p.Reading), slices.Clone(p.Refusals)
	for _, list := range [][]string{safe.Key, safe.Notes} {
		for i := range list {
			list[i] = visible(list[i])
		}
	}
	for i := range safe.Reading {
		r := &safe.Reading[i]
		r.Column, r.Type, r.Remark = visible(r.Column), visible(r.Type), visible(r.Remark)
	}
	for i := range safe.Refusals {
		safe.Refusals[i].Why = visible(safe.Refusals[i].Why)
	}
	if p.Zone != nil {
		zone := *p.Zone
		zone.Origin, zone.Samples = visible(zone.Origin), slices.Clone(zone.Samples)
		for i := range zone.Samples {
			zone.Samples[i].Value = visible(zone.Samples[i].Value)
		}
		safe.Zone = &zone
	}
	m := &safe.Mapping
	for _, text := range []*string{&m.Disposition, &m.ArchivedAt, &m.GovernedWhen, &m.ResolvedWhen, &m.UnderwayWhen, &m.CreatedAt} {
		*text = visible(*text)
	}
	return &safe
}

// lines are visible line by line.
func lines(s string) string {
	list := strings.Split(s, "\n")
	for i := range list {
		list[i] = visible(list[i])
	}
	return strings.Join(list, "\n")
}

func describe(p *define.Plan, width int) string {
	p = harmless(p)
	page := &command.Page{Width: min(cmp.Or(width, planWidth), planWidth)}
	switch {
	case p.Adopted != nil:
		page.Heading(fmt.Sprintf("%s is adopted as %s since %s: %s.", p.Source, p.Adopted.Table, stream.Stamp(p.Adopted.BegunAt), p.Adopted.State))
		if p.Moves {
			page.Text(fmt.Sprintf("It moves to %s: policy %s, hub %s. New rows: %s, %s.", p.Table.Name, p.Table.Policy, p.Table.Hub, p.Table.Default, fate(p)))
		}
	case p.Table.Name != "" && p.Table.Policy != "":
		page.Heading(fmt.Sprintf("Adopt %s as %s", p.Source, p.Table.Name))
		page.Text(fmt.Sprintf("Policy %s, hub %s. New rows: %s, %s.", p.Table.Policy, p.Table.Hub, p.Table.Default, fate(p)))
	default:
		page.Heading("Adopt " + p.Source)
	}
	refusals(page, p)
	if len(p.Reading) > 0 {
		mapping(page, p)
		times(page, p)
		rows(page, p)
	}
	if len(p.Notes) > 0 {
		page.Heading("To know")
		page.List(p.Notes)
	}
	steps(page, p)
	if (p.Adopted == nil || p.Moves) && len(p.Refusals) == 0 {
		page.Heading("Nothing was changed. To adopt it, repeat the command with --apply.")
	}
	return lines(page.String())
}

// fate is what becomes of an error of the table.
func fate(p *define.Plan) string {
	lasts := "kept for ever"
	if p.Table.TTL > 0 {
		lasts = "archived after " + policy.FormatDuration(p.Table.TTL)
	}
	if p.Table.Blocks {
		return "blocks its entity, " + lasts
	}
	return lasts
}

func refusals(page *command.Page, p *define.Plan) {
	if len(p.Refusals) == 0 {
		return
	}
	page.Heading("It cannot be adopted as it is:")
	for _, r := range p.Refusals {
		page.Wrap("  - ", "    ", r.Why)
		first, block, _ := strings.Cut(r.Way, "\n")
		page.Wrap("    ", "    ", first)
		for line := range strings.Lines(block) {
			page.WriteString("    " + line)
		}
		if block != "" {
			page.WriteString("\n")
		}
	}
}

func mapping(page *command.Page, p *define.Plan) {
	page.Heading("Mapping")
	table := [][]string{{"what", "column", "how"}}
	table = append(table, []string{"key", strings.Join(p.Key, ", "), cmp.Or(p.Facts.KeyIndex, "new column")})
	for _, r := range p.Reading {
		column := "-"
		if r.Column != "" {
			column = r.Column + " (" + r.Type + ")"
		}
		how := r.Remark
		switch {
		case slices.Contains(p.Guessed, r.Part):
			how = strings.TrimSuffix("guessed; "+how, "; ")
		case slices.Contains(p.Filled, r.Part):
			how = strings.TrimSuffix(p.Preset+"; "+how, "; ")
		}
		table = append(table, []string{r.Part, column, how})
	}
	if p.Mapping.Disposition != "" {
		table = append(table, []string{"disposition", p.Mapping.Disposition, "new column, written by Recoup"},
			[]string{"archived_at", p.Mapping.ArchivedAt, "new column, written by Recoup"})
	}
	if p.Mapping.GovernedWhen != "" {
		table = append(table, []string{"governed when", p.Mapping.GovernedWhen, "other rows are no failures"})
	}
	if p.Mapping.ResolvedWhen != "" {
		table = append(table, []string{"resolved when", p.Mapping.ResolvedWhen, "those rows are over"})
	}
	if p.Mapping.UnderwayWhen != "" {
		table = append(table, []string{"underway when", p.Mapping.UnderwayWhen, "their errors wait for what comes of it"})
	}
	page.Grid(table...)
}

// times shows how times without a time zone are read.
func times(page *command.Page, p *define.Plan) {
	if p.Zone == nil {
		return
	}
	page.Heading("Times")
	page.Text(fmt.Sprintf("Times in %s have no time zone. They are read as %s (%s). If they are written in another zone, say so with --time-zone NAME; some libraries write UTC whatever the setting is (Ecto, Rails).",
		p.Mapping.CreatedAt, p.Zone.Name, p.Zone.Origin))
	table := [][]string{{"in the table", "in UTC"}}
	for _, s := range p.Zone.Samples {
		table = append(table, []string{s.Value, cmp.Or(s.UTC, "no time")})
	}
	if len(table) > 1 {
		page.Grid(table...)
	}
}

func rows(page *command.Page, p *define.Plan) {
	about := "about "
	if p.Rows.Exact {
		about = ""
	}
	figure := func(n int64) string { return about + strconv.FormatInt(n, 10) }
	page.Heading("Rows")
	page.Facts(
		"there are", figure(p.Rows.Rows),
		"governed", figure(p.Rows.Governed),
		"without entity", figure(p.Rows.NoEntity)+" (kept as orphans, which block nobody)",
		"archived at once", figure(p.Rows.Expired)+" (older than the policy keeps errors)",
		"unreadable time", figure(p.Rows.NoTime)+" (as old as their first report)",
	)
}

func steps(page *command.Page, p *define.Plan) {
	if len(p.Steps) == 0 {
		return
	}
	page.Heading("Steps, each a transaction of its own that waits 100 ms for its lock")
	for i, s := range p.Steps {
		done := ""
		if p.Adopted != nil && slices.Contains(p.Adopted.Steps, s.Name) {
			done = " (done)"
		}
		page.WriteString("\n")
		page.Wrap(fmt.Sprintf("%3d. ", i+1), "     ", s.Does+done)
		if s.Lock != "" {
			page.Wrap("     Lock: ", "     ", s.Lock)
		}
		for _, sql := range s.SQL {
			for line := range strings.Lines(sql + ";") {
				page.WriteString("     " + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
}
