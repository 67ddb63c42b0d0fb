package codes

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// manual prints what is known about a code, as a manual page would.
func manual(s command.Streams, d *fault.Definition) error {
	p := command.Page{Width: s.Width}
	p.Heading(string(d.Code))
	p.Text(command.Printable(d.Description))
	p.Heading("RETRY")
	p.Text(retryAdvice(d))
	p.Text(requestAdvice(d))
	p.Heading("CAUSES")
	p.List(printable(d.Causes))
	p.Heading("RESOLUTION")
	p.List(printable(d.Resolution))
	p.Heading("FACTS")
	facts(&p, d)
	if d.Example != nil {
		p.Heading("EXAMPLE")
		var example strings.Builder
		if err := command.PrintJSON(&example, d.Example); err != nil {
			return err
		}
		p.Verbatim(string(command.EscapeJSON([]byte(example.String()))))
	}
	if len(d.Related) > 0 {
		p.Heading("SEE ALSO")
		p.Text(command.Join(d.Related))
	}
	_, err := io.WriteString(s.Out, p.String())
	return err
}

// printable takes out of texts what would steer a terminal.
func printable(list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = command.Printable(text)
	}
	return out
}

// retryAdvice says in words what the class means, and how far it goes.
func retryAdvice(d *fault.Definition) string {
	if d.Class == recoup.ClassConditional {
		return fmt.Sprintf("Only if %s: then %s. Otherwise it counts as fatal.", ConditionMeaning(d.Condition), classMeaning(d.Proven))
	}
	meaning := classMeaning(d.Class)
	advice := strings.ToUpper(meaning[:1]) + meaning[1:] + "."
	if d.Repeat == fault.ScopeIdempotentOnly {
		advice += " It may have been done already: work that must not be done twice needs an idempotency key."
	}
	return advice
}

func classMeaning(c recoup.Class) string {
	switch c {
	case recoup.ClassImmediate:
		return "retryable at once"
	case recoup.ClassShortDelay:
		return "retryable after 1 to 5 minutes"
	case recoup.ClassLongDelay:
		return "retryable after 15 minutes or more"
	}
	return "not retryable until something is changed"
}

// ConditionMeaning says in words when a conditional code is retryable.
func ConditionMeaning(c recoup.Condition) string {
	switch c {
	case recoup.ConditionIdempotencyKey:
		return "the operation carries an idempotency key or is idempotent by nature"
	case recoup.ConditionSamePayload:
		return "the earlier request with this key had the same payload"
	}
	return "the conflicting state may have changed"
}

// requestAdvice says how a caller's own process retries, which is sooner than
// the class says: it holds one request open and does not come back to a record.
func requestAdvice(d *fault.Definition) string {
	p := d.RetryPolicy(true)
	if p.Fatal {
		return ""
	}
	return fmt.Sprintf("While a caller waits, one request is retried up to %d times: first after %s, each wait %v times the last, none above %s, never before retry_after.",
		p.MaxAttempts, duration(p.BaseDelay()), p.BackoffMultiplier, duration(p.MaxDelay()))
}

// duration writes 900000 ms as "15m" and not as "15m0s".
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

// facts are what programs know of a code.
func facts(p *command.Page, d *fault.Definition) {
	class := string(d.Class)
	if d.Class == recoup.ClassConditional {
		class += fmt.Sprintf(" on %s, then %s", d.Condition, d.Proven)
	}
	severity := string(d.Severity)
	if d.Page {
		severity += ", pages an operator"
	}
	p.Facts("class", class, "category", string(d.Category), "severity", severity,
		"HTTP status", strings.TrimSpace(fmt.Sprintf("%d %s", d.HTTPStatus, http.StatusText(d.HTTPStatus))), "domain", d.Domain,
		"alert group", d.Group, "aliases", command.Join(d.Aliases), "defined by", d.Origin)
}
