package errorcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func views(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "views",
		Short: "List, save and delete saved filters of errors",
		Long: `A view is a filter of errors under a name: yours alone, or shared within a hub. The console has
the same ones. 'recoup errors list --view NAME' lists its errors, and the acts of 'recoup errors'
take --view too. A view is named by its name, or by its id.`,
		Example: `  recoup views save "parked too long" parked:yes older:2d --share app
  recoup errors list --view "parked too long"`,
	}, viewsList(streams), viewsShow(streams), viewsSave(streams), viewsDelete(streams))
}

// findView finds a view by its name, its id or a part of that. One's own comes before one of
// a hub that has the same name.
func findView(ctx context.Context, s *command.Session, text string) (wire.View, error) {
	var all []wire.View
	var named *wire.View
	for v, err := range admin.New(s.Client).Views.All(ctx) {
		if err != nil {
			return v, err
		}
		if all = append(all, v); v.Name == text && (named == nil || v.Owner != "") {
			named = &all[len(all)-1]
		}
	}
	if named != nil {
		return *named, nil
	}
	id, err := s.IDBy(text, func(part string) (found wire.FoundIDs, err error) {
		wanted, err := recoup.ParseIDPart(part)
		for i := range all {
			if v := &all[i]; err == nil && wanted.Of(v.ID) {
				found.IDs = append(found.IDs, wire.FoundID{ID: v.ID, Of: shared(v), What: v.Name, At: v.CreatedAt})
			}
		}
		return found, err
	})
	_, bad := errors.AsType[command.BadID](err)
	_, unknown := errors.AsType[command.UnknownID](err)
	if err != nil && !bad && !unknown {
		return wire.View{}, err
	}
	if i := slices.IndexFunc(all, func(v wire.View) bool { return err == nil && v.ID == id }); i >= 0 {
		return all[i], nil
	}
	return wire.View{}, noView(text, all)
}

// noView says that there is no such view, and which there are.
func noView(text string, all []wire.View) error {
	var names []string
	for i := range all {
		names = append(names, command.Printable(all[i].Name))
	}
	if len(names) == 0 {
		return fmt.Errorf("no view is called %q, and none is saved: 'recoup views save NAME TOKEN…' saves one", text)
	}
	return fmt.Errorf("no view is called %q: expected one of %s", text, strings.Join(names, ", "))
}

// shared is who sees a view.
func shared(v *wire.View) string {
	if v.Hub == "" {
		return "you alone"
	}
	return v.Hub
}

func viewsList(streams command.Streams) *cobra.Command {
	return command.List[wire.View]{
		Noun: "view", Key: "views", Empty: "No view is saved: 'recoup views save NAME TOKEN…' saves one.", Hint: "'recoup errors list --view NAME' lists its errors.",
		Columns: []command.Column{
			{Name: "NAME", Wrap: true}, {Name: "FILTER", Wrap: true}, {Name: "SEEN BY"}, {Name: "CHANGED", Drop: 2}, {Name: "BY", Drop: 1}, {Name: "ID", Drop: 3},
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]wire.View, string, error) {
			page, err := admin.New(s.Client).Views.List(ctx, p)
			return page.Views, page.Next, err
		},
		Row: func(_ *command.Session, v *wire.View) command.Cells {
			return command.Cells{v.Name, strings.Join(v.Tokens, " "), shared(v), command.At(v.ChangedAt), v.ChangedBy, v.ID}
		},
	}.Command(streams, &cobra.Command{
		Use:     "list",
		Short:   "List your views and those of your hubs, newest first",
		Example: "  recoup views list",
	})
}

func viewsShow(streams command.Streams) *cobra.Command {
	return command.Show(streams, &cobra.Command{
		Use:     "show VIEW",
		Short:   "Show a view: its filter, who sees it, who saved it",
		Example: `  recoup views show "parked too long"`,
		Args:    command.ExactArgs("VIEW"),
	}, func(ctx context.Context, s *command.Session, args []string) (wire.View, error) {
		return findView(ctx, s, args[0])
	}, func(s *command.Session, p *command.Page, v *wire.View) {
		p.Heading(command.Printable(v.Name))
		p.Facts("id", v.ID.String(), "filter", strings.Join(v.Tokens, " "), "seen by", shared(v), "created", s.When(v.CreatedAt), "changed", s.When(v.ChangedAt), "by", v.ChangedBy)
	})
}

func viewsSave(streams command.Streams) *cobra.Command {
	var ask wire.NewView
	cmd := &cobra.Command{
		Use:   "save VIEW TOKEN…",
		Short: "Save a filter of errors under a name",
		Long: `Saves a filter of errors under a name. A token is a key, a colon and a value; each key is given
once at most: ` + strings.Join(wire.TokenKeys(), ", ") + `.
Ages such as older:2d count from when the view is looked at. A view of yours, or of the hub, that
has the name is replaced.`,
		Example: `  recoup views save late parked:yes older:2d
  recoup views save "no answer" "text:connection refused" --share app`,
		Args: command.SomeArgs("VIEW", "TOKEN"),
	}
	cmd.Flags().StringVar(&ask.Hub, "share", "", "share it within this `HUB`; otherwise it is yours alone")
	return command.Act[wire.View]{
		Check: func(s *command.Session, args []string) error {
			ask.Name, ask.Tokens = args[0], args[1:]
			return checkTokens(ask.Tokens, s.Clock())
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (wire.View, error) {
			for v, err := range admin.New(s.Client).Views.All(ctx) {
				if err != nil {
					return v, err
				}
				if v.Name == ask.Name && v.Hub == ask.Hub {
					return admin.New(s.Client).Views.Change(ctx, v.ID, ask)
				}
			}
			return admin.New(s.Client).Views.Add(ctx, ask)
		},
		Say: func(s *command.Session, v wire.View) {
			s.Sayf("%s saved, seen by %s: %s", command.Printable(v.Name), shared(&v), command.Printable(strings.Join(v.Tokens, " ")))
		},
	}.Command(streams, cmd)
}

// checkTokens says all that is wrong with tokens, each with its own.
func checkTokens(tokens []string, now time.Time) error {
	_, err := wire.TokenFilter(tokens, now)
	said, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	var wrong []string
	for _, f := range said.Fields() {
		var at int
		if _, err := fmt.Sscanf(f.Field, "tokens[%d]", &at); err == nil && at < len(tokens) {
			wrong = append(wrong, fmt.Sprintf("%q: %s", tokens[at], f.Message))
		}
	}
	return command.Usagef("%s", strings.Join(wrong, "\n"))
}

func viewsDelete(streams command.Streams) *cobra.Command {
	return command.Act[wire.View]{
		Call: func(ctx context.Context, s *command.Session, args []string) (wire.View, error) {
			v, err := findView(ctx, s, args[0])
			if err != nil {
				return v, err
			}
			return admin.New(s.Client).Views.Delete(ctx, v.ID)
		},
		Say: func(s *command.Session, v wire.View) {
			s.Sayf("%s deleted, which was seen by %s: %s", command.Printable(v.Name), shared(&v), command.Printable(strings.Join(v.Tokens, " ")))
		},
	}.Command(streams, &cobra.Command{
		Use:     "delete VIEW",
		Short:   "Delete a view, and say what it was",
		Example: `  recoup views delete late`,
		Args:    command.ExactArgs("VIEW"),
	})
}
