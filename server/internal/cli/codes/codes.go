// Package codes is 'recoup codes': the registry of error codes, as lists, manual
// pages and exports.
package codes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{command.Group(&cobra.Command{
		Use:   "codes",
		Short: "Look up error codes: what they mean and what to do",
		Long: `Every failure has a code. It says what went wrong, whether a retry can help, and what a person
can do.`,
		Example: `  recoup codes list
  recoup codes show NETWORK_TIMEOUT`,
	}, list(streams), show(streams), add(streams), export(streams))}
}

func list(streams command.Streams) *cobra.Command {
	var ask filters
	var from command.PolicyFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the registered codes",
		Example: `  recoup codes list --class conditional
  recoup codes list --domain rate --json`,
	}
	cmd.Flags().StringVar(&ask.domain, "domain", "", "only this `DOMAIN`: "+command.Join(fault.Domains()))
	cmd.Flags().StringVar(&ask.class, "class", "", "only this `CLASS`: "+command.Join(recoup.Classes()))
	cmd.Flags().StringVar(&ask.category, "category", "", "only this `CATEGORY`: "+command.Join(recoup.Categories()))
	return command.List[shown]{
		On: from.Offline, Whole: true, Noun: "code", Hint: "'recoup codes show CODE' explains one.",
		Columns: []command.Column{
			{Name: "CODE"}, {Name: "DOMAIN", Drop: 3}, {Name: "RETRYABLE"}, {Name: "RETRY", Wrap: true}, {Name: "CATEGORY", Drop: 1}, {Name: "HTTP", Drop: 2},
		},
		Fetch: func(context.Context, *command.Session, client.Page) ([]shown, string, error) {
			list, err := ask.codes(from.Policy.Registry())
			return list, "", err
		},
		JSON: func(list []shown) any { return list },
		Row: func(_ *command.Session, d *shown) command.Cells {
			retry := string(d.Class)
			if d.Class == recoup.ClassConditional {
				retry = fmt.Sprintf("%s if %s", d.Proven, d.Condition)
			}
			return command.Cells{d.Code, d.Domain, retryable(d.Definition), retry, d.Category, d.HTTPStatus}
		},
	}.Command(streams, cmd)
}

// shown is a code as the API shows it.
type shown struct {
	*fault.Definition
	Retryable bool `json:"retryable"`
}

// retryable answers whether a retry can help, in a word.
func retryable(d *fault.Definition) string {
	switch {
	case d.Retryable(false):
		return "yes"
	case d.Retryable(true):
		return "depends"
	}
	return "no"
}

// filters choose codes; an empty one lets all through.
type filters struct{ domain, class, category string }

func (f filters) codes(registry *fault.Registry) (list []shown, err error) {
	domain, noDomain := command.OneOf("domain", f.domain, fault.Domains())
	class, noClass := command.OneOf("class", f.class, recoup.Classes())
	category, noCategory := command.OneOf("category", f.category, recoup.Categories())
	if err := cmp.Or(noDomain, noClass, noCategory); err != nil {
		return nil, err
	}
	for _, d := range registry.All() {
		if (domain == "" || d.Domain == domain) && (class == "" || d.Class == class) && (category == "" || d.Category == category) {
			list = append(list, shown{d, d.Retryable(false)})
		}
	}
	return list, nil
}

func show(streams command.Streams) *cobra.Command {
	var from command.PolicyFlags
	return from.Offline(streams, &cobra.Command{
		Use:   "show CODE",
		Short: "Explain one code: meaning, causes, resolution",
		Long: `Explains one code: what it means, whether to retry, what causes it and what to do about it.
Upper and lower case are the same, and aliases of a code lead to it.`,
		Example: `  recoup codes show NETWORK_TIMEOUT
  recoup codes show rate_limited --json`,
		Args: command.ExactArgs("CODE"),
	}, command.One, func(_ context.Context, s *command.Session, args []string) error {
		asked, err := recoup.ParseCode(args[0])
		if err != nil {
			return command.UsageError{Err: err}
		}
		def, ok := from.Policy.Registry().Lookup(asked)
		if !ok {
			return unknown(asked, from.Policy.Registry())
		}
		switch {
		case asked != def.Code:
			s.Notef("%s is an alias of %s.\n", asked, def.Code)
		case args[0] != string(asked):
			s.Notef("%s is written %s.\n", args[0], asked)
		}
		if s.Machine() {
			return s.Print(shown{def, def.Retryable(false)})
		}
		return manual(s.Streams, def)
	})
}

// unknown names up to three registered codes that may have been meant.
func unknown(asked recoup.Code, registry *fault.Registry) error {
	near := nearest(string(asked), registry)
	if len(near) == 0 {
		return fmt.Errorf("code %s is not registered\n'recoup codes list' lists those that are", asked)
	}
	return errors.New("code " + string(asked) + " is not registered; did you mean " + command.Join(near[:min(3, len(near))]) + "?")
}

// nearest returns the codes that are near, the nearest first. A code is as near as
// the nearest of its names.
func nearest(asked string, registry *fault.Registry) []recoup.Code {
	var names []string
	code := map[string]recoup.Code{}
	for _, d := range registry.All() {
		for _, name := range append([]recoup.Code{d.Code}, d.Aliases...) {
			names = append(names, string(name))
			code[string(name)] = d.Code
		}
	}
	var near []recoup.Code
	for _, name := range command.Meant(asked, names) {
		if !slices.Contains(near, code[name]) {
			near = append(near, code[name])
		}
	}
	return near
}
