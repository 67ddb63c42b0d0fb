package codes

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// added is a code as the flags describe it.
type added struct {
	class, category, severity, domain, group string
	status                                   int
	description                              string
	causes, resolution                       []string
}

func add(streams command.Streams) *cobra.Command {
	var a added
	cmd := &cobra.Command{
		Use:   "add CODE --class CLASS --description TEXT",
		Short: "Register a code of your own on a server",
		Long: `Registers a code, or changes one that was registered before. The codes that Recoup ships do not
change, and those that the policy in force defines are changed there.`,
		Example: `  recoup codes add CARD_DECLINED --class fatal --description "The bank said no."
  recoup codes add BANK_AWAY --class long_delay --description "No answer."`,
		Args: command.ExactArgs("CODE"),
	}
	cmd.Flags().StringVar(&a.class, "class", "", "`CLASS`: "+command.Join(recoup.Classes())+"; required")
	cmd.Flags().StringVar(&a.category, "category", "", "`CATEGORY`: "+command.Join(recoup.Categories())+" (default: by the class)")
	cmd.Flags().StringVar(&a.severity, "severity", "", "`SEVERITY`: "+command.Join(recoup.Severities())+" (default MEDIUM)")
	cmd.Flags().StringVar(&a.domain, "domain", "", "`DOMAIN`: "+command.Join(fault.Domains())+" (default runtime)")
	cmd.Flags().StringVar(&a.group, "group", "", "`GROUP` that alert rules count: "+command.Join(fault.Groups())+" (default: none)")
	cmd.Flags().IntVar(&a.status, "http-status", 0, "HTTP `STATUS` of an answer with it (default 500)")
	cmd.Flags().StringVar(&a.description, "description", "", "what it means, a `TEXT`; required")
	cmd.Flags().StringArrayVar(&a.causes, "cause", nil, "a `TEXT` about a cause; may be repeated")
	cmd.Flags().StringArrayVar(&a.resolution, "way-out", nil, "a `TEXT` about what to do; may be repeated")
	return command.Act[fault.Definition]{
		Call: func(ctx context.Context, s *command.Session, args []string) (fault.Definition, error) {
			def, err := a.definition(args[0])
			if err != nil {
				return def, err
			}
			return s.Codes.Put(ctx, def)
		},
		Say: func(s *command.Session, def fault.Definition) {
			s.Sayf("%s is registered: class %s, category %s, severity %s.", def.Code, def.Class, def.Category, def.Severity)
		},
	}.Command(streams, cmd)
}

func (a *added) definition(name string) (fault.Definition, error) {
	code, err := recoup.ParseCode(name)
	if err != nil {
		return fault.Definition{}, command.UsageError{Err: err}
	}
	if a.class == "" || strings.TrimSpace(a.description) == "" {
		return fault.Definition{}, command.Usagef("a code needs a --class and a --description")
	}
	class, err := command.OneOf("class", a.class, recoup.Classes())
	if err != nil {
		return fault.Definition{}, err
	}
	return policy.Completed(fault.Definition{
		Code: code, Class: class, Category: recoup.Category(strings.ToUpper(a.category)), Severity: recoup.Severity(strings.ToUpper(a.severity)),
		Domain: a.domain, Group: a.group, HTTPStatus: a.status, Origin: "recoup codes add",
		Description: a.description, Causes: a.causes, Resolution: a.resolution,
	}), nil
}
