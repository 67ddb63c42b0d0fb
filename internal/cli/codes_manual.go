package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"recoup"
	"recoup/fault"
)

// pageWidth is the width to which text for people is wrapped.
const pageWidth = 100

// manual prints what is known about a code, as a manual page would.
func manual(w io.Writer, d *fault.Definition) error {
	var p page
	p.heading(string(d.Code))
	p.text(d.Description)
	p.heading("RETRY")
	p.text(retryAdvice(d))
	p.text(requestAdvice(d))
	p.heading("CAUSES")
	p.list(d.Causes)
	p.heading("WAY OUT")
	p.list(d.Resolution)
	p.heading("FACTS")
	p.facts(d)
	p.heading("EXAMPLE")
	var example strings.Builder
	if err := printJSON(&example, d.Example); err != nil {
		return err
	}
	p.verbatim(example.String())
	if len(d.Related) > 0 {
		p.heading("SEE ALSO")
		p.text(join(d.Related))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// retryAdvice says in words what the class means, and how far it goes.
func retryAdvice(d *fault.Definition) string {
	if d.Class == recoup.ClassConditional {
		return fmt.Sprintf("Only if %s: then %s. Otherwise it counts as fatal.", conditionMeaning(d.Condition), classMeaning(d.Proven))
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
		return "worth trying again at once"
	case recoup.ClassShortDelay:
		return "worth trying again after 1 to 5 minutes"
	case recoup.ClassLongDelay:
		return "worth trying again after 15 minutes or more"
	}
	return "not worth trying again until something is changed"
}

func conditionMeaning(c recoup.Condition) string {
	switch c {
	case recoup.ConditionIdempotencyKey:
		return "the operation carries an idempotency key or is idempotent by nature"
	case recoup.ConditionSamePayload:
		return "the earlier request with this key had the same payload"
	}
	return "what was in the way may have moved"
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

// page collects a manual page.
type page struct{ strings.Builder }

func (p *page) heading(s string) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.WriteString(s + "\n")
}

func (p *page) text(s string) { p.wrap("  ", "  ", s) }

func (p *page) list(items []string) {
	for _, item := range items {
		p.wrap("  - ", "    ", item)
	}
}

func (p *page) facts(d *fault.Definition) {
	fact := func(name, value string) {
		if value != "" {
			p.wrap(fmt.Sprintf("  %-13s", name), strings.Repeat(" ", 15), value)
		}
	}
	class := string(d.Class)
	if d.Class == recoup.ClassConditional {
		class += fmt.Sprintf(" on %s, then %s", d.Condition, d.Proven)
	}
	fact("class", class)
	fact("category", string(d.Category))
	severity := string(d.Severity)
	if d.Page {
		severity += ", pages an operator"
	}
	fact("severity", severity)
	fact("HTTP status", strings.TrimSpace(fmt.Sprintf("%d %s", d.HTTPStatus, http.StatusText(d.HTTPStatus))))
	fact("domain", d.Domain)
	fact("alert group", d.Group)
	fact("aliases", join(d.Aliases))
	fact("named by", d.Origin)
}

func (p *page) verbatim(s string) {
	for line := range strings.Lines(s) {
		p.WriteString("  " + line)
	}
}

// wrap writes s with one margin before its first line and another, of the same
// width, before the lines that follow.
func (p *page) wrap(first, rest, s string) {
	line, room := first, pageWidth-len(first)
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case room > len(word):
			line, room = line+" ", room-1
		default:
			p.WriteString(line + "\n")
			line, room = rest, pageWidth-len(rest)
		}
		line, room = line+word, room-len(word)
	}
	if s != "" {
		p.WriteString(line + "\n")
	}
}
