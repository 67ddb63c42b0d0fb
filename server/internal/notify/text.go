package notify

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// maxText is the longest that a name from outside is repeated.
const maxText = 120

// clean returns a text in one line, short, and without anything that looks like a
// secret or a person. Names of rules and tables pass as they are.
func clean(s string) string {
	s, _ = redact.Default().String(s)
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	return short(s, maxText)
}

// short cuts a text to at most n bytes, at the end of a character.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	n -= len(more)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}

// title says what a message is about, in a few words.
func title(kind wire.NoticeKind, count int) string {
	n, s := strconv.Itoa(count), "s"
	if count == 1 {
		s = ""
	}
	switch kind {
	case wire.NoticeParked:
		return n + " error" + s + " parked, waiting for you"
	case wire.NoticeNotParked:
		return n + " error" + s + " should be looked at, in a table that parks nothing"
	case wire.NoticeEscalated:
		return n + " error" + s + " escalated to you"
	case wire.NoticeReviewMissed:
		return n + " error" + s + " not reviewed in time"
	case wire.NoticeExpiring:
		return n + " blocking error" + s + " about to expire"
	case wire.NoticeUnblocked:
		return n + " error" + s + " expired and unblocked"
	case wire.NoticePaged:
		return n + " error" + s + " that an operator has to look at now"
	case wire.NoticePageOver:
		return n + " error" + s + " ended that an operator was called for"
	case wire.NoticeAlert:
		return n + " alert" + s + " firing"
	case wire.NoticeAlertResolved:
		return n + " alert" + s + " resolved"
	case wire.NoticeJobLate:
		return n + " job" + s + " behind"
	case wire.NoticeJobRecovered:
		return n + " job" + s + " caught up"
	case wire.NoticePolicyRefused:
		return "a changed policy was refused, the old one stays in force"
	case wire.NoticeReplayStopped:
		return n + " replay" + s + " stopped, waiting for you"
	case wire.NoticeAdopted:
		return "the rows of an adopted table are governed"
	}
	return n + " notice" + s + " of the kind " + clean(string(kind))
}

// line describes one item in one line, without its link.
func (it *Item) line() string {
	var b strings.Builder
	say := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, format, args...)
	}
	if it.Code != "" {
		say("%s in %s", it.Code, it.Table)
	}
	if it.Rule != "" {
		say("%s", it.Rule)
	}
	if it.Scope != "" {
		say("%s", it.Scope)
	}
	if it.Job != "" {
		say("job %s", it.Job)
	}
	if it.Condition != "" {
		say("%s", it.Condition)
	}
	if it.Value != nil {
		say("now %s", strconv.FormatFloat(*it.Value, 'g', 4, 64))
	}
	if it.Provider != "" {
		say("provider of %s", it.Provider)
	}
	it.details(say)
	if b.Len() == 0 {
		return "no details"
	}
	return b.String()
}

func (it *Item) details(say func(string, ...any)) {
	if it.Severity != "" {
		say("%s", it.Severity)
	}
	if it.Cause != "" {
		say("last attempt failed with %s", it.Cause)
	}
	if it.Reason != "" {
		say("%s", it.Reason)
	}
	if it.Tier > 0 {
		say("tier %d", it.Tier)
	}
	if it.Blocking {
		say("blocking")
	}
	if !it.Deadline.IsZero() {
		say("until %s", stamp(it.Deadline))
	}
	if !it.Since.IsZero() {
		say("since %s", stamp(it.Since))
	}
	if !it.Until.IsZero() {
		say("over at %s", stamp(it.Until))
	}
	if it.Notified > 1 {
		say("notified %d times", it.Notified)
	}
	if it.Hint != "" {
		say("%s", it.Hint)
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// line is what a message says of the items with one key: how many there are, the
// first of them in words, and where some of them are found.
type line struct {
	text  string
	count int
	links []string
}

// maxLinks is how many links a line has.
const maxLinks = 3

// lines returns at most n lines, and how many things are left out.
func (m *Message) lines(n int) (list []line, more int) {
	at := map[string]int{}
	more = m.More
	for i := range m.Items {
		it := &m.Items[i]
		k, known := at[it.Key]
		if !known {
			if len(list) == n {
				more++
				continue
			}
			k = len(list)
			at[it.Key] = k
			list = append(list, line{text: it.line()})
		}
		l := &list[k]
		if l.count++; it.Link != "" && len(l.links) < maxLinks {
			l.links = append(l.links, it.Link)
		}
	}
	return list, more
}

// String writes a line without its links.
func (l line) String() string {
	if l.count > 1 {
		return fmt.Sprintf("%d × %s", l.count, l.text)
	}
	return l.text
}
