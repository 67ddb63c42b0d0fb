package console

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// span writes a duration in its largest unit, as people say it: 40 s, 12 min, 3 h, 5 d.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// nearest rounds what is still to come to the unit that it is written in: 3 h 59 min are 4 h.
func nearest(d time.Duration) time.Duration {
	switch {
	case d < 90*time.Second:
		return d.Round(time.Second)
	case d < 90*time.Minute:
		return d.Round(time.Minute)
	case d < 48*time.Hour:
		return d.Round(time.Hour)
	}
	return d.Round(24 * time.Hour)
}

// moment is a time as pages show it: how long ago or how soon, and exactly on hover.
func moment(now, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	text := span(now.Sub(t)) + " ago"
	switch {
	case now.Sub(t).Abs() < time.Second:
		text = "now"
	case t.After(now):
		text = "in " + span(nearest(t.Sub(now)))
	}
	return timeTag(t, text)
}

// age is how old something is, without a word.
func age(now, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return timeTag(t, span(now.Sub(t)))
}

// timeTag is a time with a text that holds digits and units only.
func timeTag(t time.Time, text string) template.HTML {
	exact := t.UTC().Format("Mon 2 Jan 2006 15:04:05 UTC")
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + exact + `">` + text + `</time>`) //nolint:gosec // nothing of it is of others
}

// count writes a number with thousands separated.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), ",")
}

// plural is a number with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return count(n) + " " + stem + "ies"
	}
	return count(n) + " " + noun + "s"
}

// short is an id by its end, which is what differs.
func short(id recoup.ID) string {
	s := id.String()
	return "…" + s[len(s)-7:]
}

// Badge is a state as pages show it: a word, a colour and a shape.
type Badge struct{ Class, Word string }

func stateBadge(s recoup.State) Badge {
	switch s {
	case recoup.Active:
		return Badge{"active", "Active"}
	case recoup.RetryPending:
		return Badge{"retry", "Retrying"}
	case recoup.Parked:
		return Badge{"parked", "Parked"}
	case recoup.Escalated:
		return Badge{"escalated", "Escalated"}
	case recoup.Resolved:
		return Badge{"resolved", "Resolved"}
	}
	return Badge{"archived", "Archived"}
}

// workflowBadge is where a dead letter stands in its workflow.
func workflowBadge(s recoup.WorkflowStep) Badge {
	switch s {
	case recoup.StepNew:
		return Badge{"active", "New"}
	case recoup.StepTriaged:
		return Badge{"parked", "Triaged"}
	case recoup.StepRemediated:
		return Badge{"parked", "Remediated"}
	case recoup.StepValidated:
		return Badge{"parked", "Validated"}
	case recoup.StepReplaying:
		return Badge{"retry", "Replaying"}
	case recoup.StepReplayed:
		return Badge{"retry", "Replayed"}
	case recoup.StepVerified:
		return Badge{"resolved", "Verified"}
	}
	return Badge{"archived", "Archived"}
}

// itemBadge is what became of a member of a replay.
func itemBadge(s recoup.ItemState) Badge {
	switch s {
	case recoup.ItemPending:
		return Badge{"active", "Pending"}
	case recoup.ItemReleased:
		return Badge{"retry", "Released"}
	case recoup.ItemSucceeded:
		return Badge{"resolved", "Succeeded"}
	case recoup.ItemFailed:
		return Badge{"escalated", "Failed otherwise"}
	case recoup.ItemRepeated:
		return Badge{"critical", "Failed again"}
	case recoup.ItemCancelled:
		return Badge{"archived", "Cancelled"}
	}
	return Badge{"archived", "Archived"}
}

// web reports whether a ticket is an address, and not a name such as OPS-17.
func web(link string) bool {
	return strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://")
}

// next says what happens to an error by itself, soonest first, in a few words.
func next(now time.Time, e *recoup.Error) template.HTML {
	waits := e.State == recoup.Parked || e.State == recoup.Escalated
	switch {
	case e.State == recoup.Resolved:
		return "archived by the next sweep"
	case e.State == recoup.Archived:
		return "deleted " + moment(now, e.PurgeAt)
	case e.Leased(now):
		return "being retried now"
	case waits && !e.ReviewDueAt.IsZero() && e.ReviewDueAt.Before(now):
		return "review overdue by " + age(now, e.ReviewDueAt)
	case waits && !e.NextEscalationAt.IsZero():
		return template.HTML(fmt.Sprintf("tier %d ", e.EscalationLevel+1)) + moment(now, e.NextEscalationAt) //nolint:gosec // a number
	case waits && !e.ReviewDueAt.IsZero():
		return "review " + moment(now, e.ReviewDueAt)
	case !e.NextRetryAt.IsZero() && e.NextRetryAt.After(now):
		return template.HTML(fmt.Sprintf("retry %d of %d ", e.RetryCount+1, e.MaxRetries)) + moment(now, e.NextRetryAt) //nolint:gosec // numbers
	case !e.NextRetryAt.IsZero():
		return "due, waits for a worker"
	case !e.ExpiresAt.IsZero():
		return "expires " + moment(now, e.ExpiresAt)
	}
	return "–"
}

// counted is a number of something.
type counted struct {
	N    int64
	Noun string
}

// details are the fields of an act of the audit in a line.
func details(object recoup.JSON) string {
	var words []string
	for _, p := range pairs(object) {
		words = append(words, p.Name+": "+p.Value)
	}
	return strings.Join(words, " · ")
}

// target is what an act was done to: an id by its end, anything else as it is.
func target(name string) string {
	if id, err := recoup.ParseID(name); err == nil {
		return short(id)
	}
	return name
}
