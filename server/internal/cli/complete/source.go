package complete

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// words are those that a name stands for, if they are always the same.
func words(cmd *cobra.Command, name string) []string {
	switch name {
	case "SEVERITY":
		return texts(recoup.Severities())
	case "CATEGORY":
		return texts(recoup.Categories())
	case "CAUSE":
		if under(cmd, "dead-letters") {
			return texts([]recoup.Cause{recoup.CauseTransient, recoup.CauseData, recoup.CauseAuthConfig, recoup.CauseCodeDefect})
		}
	case "ROLE":
		return []string{"ingest", "worker", "operator", "admin", "reader"}
	case "STATE":
		return states(cmd)
	}
	return nil
}

// errorGroups are those of which most is open.
func errorGroups(ctx context.Context, s *command.Session) (all []string, err error) {
	found, err := s.ErrorGroups.List(ctx, recoup.ErrorGroupFilter{}, client.Page{Limit: Recent})
	for i := range found.Groups {
		g := &found.Groups[i]
		all = append(all, Described(g.ID.String(), string(g.Code)+" in "+g.Table+" "+g.Signature))
	}
	return all, err
}

// states are those of what a command lists.
func states(cmd *cobra.Command) []string {
	switch {
	case under(cmd, "errors"), under(cmd, "groups"):
		return texts(recoup.States())
	case under(cmd, "alerts"):
		return texts([]wire.AlertState{wire.AlertPending, wire.AlertFiring, wire.AlertResolved})
	case under(cmd, "notifications"):
		return texts([]wire.NoticeState{wire.NoticeWaiting, wire.NoticeDelivered, wire.NoticeGivenUp})
	case under(cmd, "replays list"):
		return texts(recoup.ReplayStates())
	case under(cmd, "operations list"):
		return texts(recoup.OperationStates())
	}
	return nil
}

func texts[S ~string](list []S) (all []string) {
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

// fallback is what Recoup itself knows of a name, where no server answers.
func fallback(name string) []string {
	switch name {
	case "CODE":
		var all []string
		for _, d := range fault.Default().All() {
			all = append(all, Described(string(d.Code), d.Description))
		}
		return all
	case "TABLE":
		return tables(policy.Default())
	}
	return nil
}

// Source asks a server for what there is.
type Source func(ctx context.Context, s *command.Session) ([]string, error)

// known is who knows what a name stands for; nil: nobody.
func known(cmd *cobra.Command, name string) Source {
	switch name {
	case "TABLE":
		return fromPolicy(tables)
	case "HUB":
		return fromPolicy(func(p *policy.Policy) (all []string) {
			for _, h := range p.Hubs {
				all = append(all, Described(h.ID, h.Name))
			}
			return all
		})
	case "RULE":
		return fromPolicy(func(p *policy.Policy) (all []string) {
			for _, r := range p.Alerts {
				all = append(all, Described(r.Name, string(r.Severity)))
			}
			return all
		})
	case "CODE":
		return codes
	case "PIPELINE":
		return pipelines
	case "VIEW":
		return Each(func(ctx context.Context, s *command.Session) ([]wire.View, error) {
			page, err := admin.New(s.Client).Views.List(ctx, client.Page{Limit: command.MaxRows})
			return page.Views, err
		}, func(v *wire.View) string { return Described(v.Name, strings.Join(v.Tokens, " ")) })
	case "GROUP":
		if under(cmd, "errors") {
			return errorGroups
		}
		return Each(func(ctx context.Context, s *command.Session) ([]recoup.Provider, error) { return s.Providers.List(ctx) },
			func(p *recoup.Provider) string { return Described(p.Group, "now "+p.Active) })
	case "ID":
		return ids(cmd)
	case "NAME":
		if under(cmd, "jobs") {
			return jobs
		}
	}
	return nil
}

// Described is a word with what a shell shows beside it.
func Described(word, about string) string {
	about, _, _ = strings.Cut(command.Printable(about), "\n")
	return command.Printable(word) + "\t" + about
}

// Each makes a list of words from a list of things.
func Each[T any](fetch func(context.Context, *command.Session) ([]T, error), word func(*T) string) Source {
	return func(ctx context.Context, s *command.Session) (all []string, err error) {
		list, err := fetch(ctx, s)
		for i := range list {
			all = append(all, word(&list[i]))
		}
		return all, err
	}
}

// fromPolicy asks for something that the policy in force says.
func fromPolicy(find func(*policy.Policy) []string) Source {
	return func(ctx context.Context, s *command.Session) ([]string, error) {
		current, err := admin.New(s.Client).Policy.Current(ctx)
		if err != nil {
			return nil, err
		}
		p, err := policy.Load(current.Version, []byte(current.Text), nil)
		if err != nil {
			return nil, err
		}
		return find(p), nil
	}
}

func tables(p *policy.Policy) (all []string) {
	for _, t := range p.Tables() {
		all = append(all, Described(t.Name, t.BlocksWhy))
	}
	return all
}

func codes(ctx context.Context, s *command.Session) (all []string, err error) {
	list, err := s.Codes.List(ctx)
	for i := range list {
		all = append(all, Described(string(list[i].Code), list[i].Description))
	}
	return all, err
}
