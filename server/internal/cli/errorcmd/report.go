package errorcmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// request is a report as its flags describe it.
type request struct {
	recoup.Report
	severity, correlation, after, repeat string
	proven                               []string
}

func report(streams command.Streams) *cobra.Command {
	var ask request
	cmd := &cobra.Command{
		Use:   "report --table TABLE --entity ENTITY --code CODE",
		Short: "Report a failure",
		Long: `Reports that an entity failed, and with which code. The answer says what becomes of it. A new
report of a failure that is already open supersedes the old one.`,
		Example: `  recoup report --table app.errors --entity order-1 --code NETWORK_TIMEOUT
  recoup report --table app.errors --entity order-2 --code VALIDATION_ERROR`,
	}
	ask.add(cmd)
	return command.Act[recoup.Reported]{
		Check: func(*command.Session, []string) error { return ask.read() },
		Call: func(ctx context.Context, s *command.Session, _ []string) (recoup.Reported, error) {
			return s.Report(ctx, ask.Report, repeated(ask.repeat)...)
		},
		Say: sayReported,
	}.Command(streams, cmd)
}

func (a *request) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.Table, "table", "", "error `TABLE`, as the policy names it; required")
	flags.StringVar(&a.EntityID, "entity", "", "the `ENTITY` that failed; required where the table requires one")
	flags.StringVar(&a.Code, "code", "", "error `CODE`; required")
	flags.StringVar(&a.severity, "severity", "", "`SEVERITY`: "+command.Join(recoup.Severities())+" (default: the code's)")
	flags.StringVar(&a.Message, "message", "", "what happened, as `TEXT` for people; secrets in it are redacted")
	flags.StringVar(&a.correlation, "correlation-id", "", "`ID` that this failure shares with others")
	flags.StringVar(&a.after, "retry-after", "", "`DELAY` that the failing side asked for, such as 90s")
	flags.StringSliceVar(&a.proven, "proven", nil, "`CONDITION` that makes a conditional code retryable: "+command.Join(conditions()))
	flags.StringVar(&a.Service, "service", "", "the `SERVICE` that failed (default: the table)")
	flags.StringVar(&a.Endpoint, "endpoint", "", "`PATH` or route within the service")
	flags.StringVar(&a.Region, "region", "", "`REGION` where the service runs")
	flags.StringVar(&a.ExternalService, "external-service", "", "the external `PROVIDER` that failed")
	flags.IntVar(&a.HTTPStatus, "http-status", 0, "`STATUS` that the provider answered with")
	repeatFlag(cmd, &a.repeat)
}

func conditions() []recoup.Condition {
	return []recoup.Condition{recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload, recoup.ConditionStateChanged}
}

// read checks the flags.
func (a *request) read() (err error) {
	switch {
	case a.Table == "":
		return command.Usagef("--table is missing: expected an error table such as app.errors")
	case a.Code == "":
		return command.Usagef("--code is missing: expected a code such as NETWORK_TIMEOUT")
	}
	if a.Severity, err = command.OneOf("severity", a.severity, recoup.Severities()); err != nil {
		return err
	}
	for _, word := range a.proven {
		condition, err := command.OneOf("condition", word, conditions())
		if err != nil {
			return err
		}
		a.Proven = append(a.Proven, condition)
	}
	if a.correlation != "" {
		if a.CorrelationID, err = command.FlagID("correlation-id", a.correlation); err != nil {
			return err
		}
	}
	if a.after != "" {
		wait, err := policy.ParseDuration(a.after)
		if err != nil {
			return command.UsageError{Err: err}
		}
		a.RetryAfter = int((wait + time.Second - 1) / time.Second)
	}
	return nil
}

func sayReported(s *command.Session, done recoup.Reported) {
	e := &done.Error
	s.Sayf("%s in %s: %s", e.ID, command.Printable(e.Table), standing(s.Streams, e))
	switch done.Orphaned {
	case recoup.EntityRequired:
		s.Notef("%s requires an entity and the report names none, so %s holds it. Report it again with --entity.", command.Printable(e.ReportedTable), command.Printable(e.Table))
	case recoup.UnknownTable:
		s.Notef("The policy has no table %s, so %s holds it.", command.Printable(e.ReportedTable), command.Printable(e.Table))
	}
	if !done.Superseded.IsZero() {
		s.Notef("It supersedes %s.", done.Superseded)
	}
	if done.Repeated {
		s.Notef("Already recorded under this idempotency key.")
	}
	for rule, n := range done.Redacted {
		s.Notef("%s redacted from the message: %s.", command.Count(n, "secret"), command.Printable(rule))
	}
}
