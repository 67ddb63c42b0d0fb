package status

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func audit(streams command.Streams) *cobra.Command {
	var f wire.AuditFilter
	var from, to string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List who did what: administrative acts, newest first",
		Long: `Lists administrative acts: who changed keys, codes, policies, switches and silences, ran jobs,
read payloads, or acted on many errors at once. What happened to one error is in its history.`,
		Example: `  recoup audit --from 24h
  recoup audit --actor ada --act policy.add --json`,
	}
	cmd.Flags().StringVar(&f.Actor, "actor", "", "only acts of this `ACTOR`")
	cmd.Flags().StringVar(&f.Act, "act", "", "only this `ACT`, such as policy.add")
	cmd.Flags().StringVar(&f.Target, "target", "", "only acts on this `TARGET`")
	cmd.Flags().StringVar(&from, "from", "", "only from this `TIME` on: an age such as 48h, a day or a time")
	cmd.Flags().StringVar(&to, "to", "", "only before this `TIME`")
	return command.List[wire.AuditEntry]{
		Noun: "act", Key: "entries",
		Columns: []command.Column{
			{Name: "TIME (UTC)"}, {Name: "ACTOR"}, {Name: "ACT"}, {Name: "TARGET", Drop: 2, Wrap: true},
			{Name: "DETAILS", Drop: 3, Wrap: true}, {Name: "REASON", Wrap: true},
		},
		Read: func(s *command.Session, _ []string) (err error) {
			f.From, f.To, err = command.Span(s.Clock(), "from", from, "to", to)
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]wire.AuditEntry, string, error) {
			page, err := admin.New(s.Client).Audit.List(ctx, f, p)
			return page.Entries, page.Next, err
		},
		Row: func(_ *command.Session, e *wire.AuditEntry) command.Cells {
			return command.Cells{command.Exactly(e.At), e.Actor, e.Act, e.Target, details(e.Details), e.Reason}
		},
	}.Command(streams, cmd)
}

// details writes a flat object as people read it: count 12, table x.
func details(text recoup.JSON) string {
	var m map[string]any
	if json.Unmarshal([]byte(text), &m) != nil {
		return string(text)
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %v", key, m[key]))
	}
	return strings.Join(parts, ", ")
}
