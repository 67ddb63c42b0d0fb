package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/internal/policy"
)

// reportRequest is a report as its flags describe it.
type reportRequest struct {
	client.Report
	severity, correlation, after, repeat string
	proven                               []string
}

func reportCommand(streams Streams) *cobra.Command {
	var ask reportRequest
	cmd := &cobra.Command{
		Use:   "report --table TABLE --entity ENTITY --code CODE",
		Short: "Report a failure",
		Long: `Reports that an entity cannot go on, and why. The answer says what becomes of it. A report
of a failure that is open already takes its place.`,
		Example: `  recoup report --table outreach.dol_errors --entity CO-20260205-000001 --code NETWORK_TIMEOUT
  recoup report --table people.people_errors --entity CO-20260205-000002 --code MISSING_NAME --json`,
		Args: noArgs,
	}
	ask.add(cmd)
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		r, err := ask.read()
		if err != nil {
			return err
		}
		var options []client.CallOption
		if ask.repeat != "" {
			options = append(options, client.IdempotencyKey(ask.repeat))
		}
		done, err := s.Report(ctx, r, options...)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, done)
		}
		s.reported(&done)
		return nil
	})
}

func (a *reportRequest) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.Table, "table", "", "error `TABLE`, as the policy names it; required")
	flags.StringVar(&a.EntityID, "entity", "", "the `ENTITY` that cannot go on")
	flags.StringVar(&a.Code, "code", "", "the failure's `CODE`; required")
	flags.StringVar(&a.severity, "severity", "", "`SEVERITY`: "+join(recoup.Severities())+" (default: the code's)")
	flags.StringVar(&a.Message, "message", "", "what happened, as `TEXT` for people; secrets in it are replaced")
	flags.StringVar(&a.correlation, "correlation-id", "", "`ID` that this failure shares with others")
	flags.StringVar(&a.after, "retry-after", "", "`WAIT` that the failing side asked for, such as 90s")
	flags.StringSliceVar(&a.proven, "proven", nil, "`CONDITION` that makes a conditional code worth a retry: "+join(conditions()))
	flags.StringVar(&a.Service, "service", "", "the `SERVICE` that failed (default: the table)")
	flags.StringVar(&a.Endpoint, "endpoint", "", "where in the service: `PATH` or route")
	flags.StringVar(&a.Region, "region", "", "`REGION` where the service runs")
	flags.StringVar(&a.ExternalService, "external-service", "", "the `PROVIDER` that it failed on")
	flags.IntVar(&a.HTTPStatus, "http-status", 0, "`STATUS` that the provider answered")
	flags.StringVar(&a.repeat, "idempotency-key", "", "`KEY` by which the server knows a report that is sent again")
}

func conditions() []recoup.Condition {
	return []recoup.Condition{recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload, recoup.ConditionStateChanged}
}

func (a *reportRequest) read() (client.Report, error) {
	r := a.Report
	switch {
	case r.Table == "":
		return r, usagef("--table is missing: expected an error table such as outreach.dol_errors")
	case r.Code == "":
		return r, usagef("--code is missing: expected a code such as NETWORK_TIMEOUT")
	}
	var err error
	if r.Severity, err = oneOf("severity", a.severity, recoup.Severities()); err != nil {
		return r, err
	}
	for _, word := range a.proven {
		condition, err := oneOf("condition", word, conditions())
		if err != nil {
			return r, err
		}
		r.Proven = append(r.Proven, condition)
	}
	if a.correlation != "" {
		if r.CorrelationID, err = recoup.ParseID(a.correlation); err != nil {
			return r, usagef("--correlation-id %q is no id: expected a UUID or a ULID", a.correlation)
		}
	}
	if a.after != "" {
		wait, err := policy.ParseDuration(a.after)
		if err != nil {
			return r, usageError{err}
		}
		r.RetryAfter = int((wait + time.Second - 1) / time.Second)
	}
	return r, nil
}

func (s *session) reported(done *client.Reported) {
	e := &done.Error
	fmt.Fprintf(s.Out, "%s in %s: %s\n", e.ID, printable(e.Table), s.standing(e))
	if e.ReportedTable != "" {
		fmt.Fprintf(s.Err, "The policy has no table %s for it, so %s holds it.\n", printable(e.ReportedTable), printable(e.Table))
	}
	if !done.Superseded.IsZero() {
		fmt.Fprintf(s.Err, "It takes the place of %s.\n", done.Superseded)
	}
	if done.Repeated {
		fmt.Fprintln(s.Err, "The server had it already, by the same idempotency key.")
	}
	for rule, n := range done.Redacted {
		fmt.Fprintf(s.Err, "%s in the message replaced: %s.\n", count(n, "secret"), printable(rule))
	}
}
