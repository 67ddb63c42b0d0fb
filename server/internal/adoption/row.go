package adoption

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

const (
	// digestSize is enough to tell whether a row has changed.
	digestSize = 16

	// cutOff is how much is taken from the end of a message of which only a part was
	// read: a secret that was cut there is not recognised.
	cutOff = 4096

	// fresh is how soon after its own time a row was written that is news.
	fresh = time.Hour
)

// cleaned is a row as it may be stored.
type cleaned struct {
	source source
	report recoup.Report
	code   recoup.Code // as it is kept
	at     time.Time   // zero: when it was first seen
	digest []byte
	rank   byte // of the severity that the row states; 0: none
}

// clean redacts a row, and puts a stand-in in the place of what cannot be kept: its
// message says what and why. A row that is gone is nil; one that cannot be read has a
// reason, and becomes an orphan.
func (s *Service) clean(a *Target, key string, r *SourceRow, bad string) cleaned {
	c := cleaned{report: recoup.Report{Table: a.Table}}
	switch {
	case bad != "":
		c.source, c.code = failing, fault.CodeUnregisteredCode
		c.report.Message, _ = s.Redactor.String("row " + key + " of " + a.Source + " cannot be read: " + bad)
		c.report.Code, c.digest = string(c.code), s.digest(&SourceRow{Key: key, Message: bad})
		return c
	case r == nil:
		return c
	}
	c.rank = rank(r)
	c.digest = s.digest(r)
	switch {
	case r.Governed:
		c.source = failing
	case r.Underway:
		c.source = underway
	default:
		c.source = resting
	}
	var notes []string
	c.report.EntityID = check.Normalized(r.EntityID)
	if refusal := s.Redactor.CheckIdentifier(c.report.EntityID, check.MaxIdentifier); refusal != nil {
		c.report.EntityID = ""
		notes = append(notes, "entity: "+refusal.Message)
	}
	c.code = s.code(a, r.Code)
	if c.report.Code = string(c.code); c.code == fault.CodeUnregisteredCode {
		notes = append(notes, "code: it has none that can be kept")
	}
	c.report.Severity = severity(r)
	if c.at = r.CreatedAt; !r.CreatedAt.IsZero() && r.CreatedAt.Before(engine.Earliest) || r.CreatedAt.After(s.Now().Add(engine.MaxAhead)) {
		c.at = time.Time{}
		notes = append(notes, "time: not between 2000 and now")
	}
	c.report.Message = s.message(r, notes)
	return c
}

// code is what a code is kept as: in capitals, with _ for what is no letter or digit, and
// a letter in front. What looks like a secret, as it was written or as it would be kept, is
// not kept.
func (s *Service) code(a *Target, text string) recoup.Code {
	def, code, err := s.Engine.Codes().Fold(codeOf(text, a.Mapping.CodeValue))
	if err != nil || def.Code != code && (s.Redactor.Identifier(text) != nil || s.Redactor.CheckIdentifier(string(code), check.MaxIdentifier) != nil) {
		return fault.CodeUnregisteredCode
	}
	return code
}

// codeOf makes a code of what stands in a column; otherwise, if nothing is left of it.
func codeOf(text, otherwise string) string {
	words := strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	code := strings.Join(words, "_")
	switch {
	case code == "":
		return otherwise
	case code[0] <= '9':
		code = "CODE_" + code
	}
	return code[:min(len(code), recoup.MaxCodeLength)]
}

// message is what is kept of a message, behind what is to be said about the row.
func (s *Service) message(r *SourceRow, notes []string) string {
	text, _ := s.Redactor.String(strings.ToValidUTF8(r.Message, "\uFFFD"))
	if r.Cut {
		text = text[:max(0, len(text)-cutOff)]
	}
	if len(notes) > 0 {
		text = "[" + strings.Join(notes, "; ") + "] " + text
	}
	if len(text) > engine.MaxMessage {
		text = text[:engine.MaxMessage]
	}
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// severity returns the severity that a row states; empty: none.
func severity(r *SourceRow) recoup.Severity {
	if s := recoup.Severity(strings.ToUpper(strings.TrimSpace(r.Severity))); s.Valid() {
		return s
	}
	return ""
}

// rank is how bad the stated severity of a row is; 0: it states none.
func rank(r *SourceRow) byte {
	if s := severity(r); s != "" {
		return byte(s.Rank())
	}
	return 0
}

// digest tells whether the mapped columns of a row are what they were. It is keyed:
// nobody can find out by trying what a short message was. The severity stands behind the keyed
// part, because a change of the severity alone is no further failure.
func (s *Service) digest(r *SourceRow) []byte {
	h := hmac.New(sha256.New, s.key)
	at := int64(0)
	if !r.CreatedAt.IsZero() {
		at = r.CreatedAt.UnixMicro()
	}
	buf := binary.BigEndian.AppendUint64(nil, uint64(at))
	for _, text := range []string{r.EntityID, r.Code, r.LastSeen, r.Message} {
		buf = append(binary.BigEndian.AppendUint64(buf, uint64(len(text))), text...)
	}
	_, _ = h.Write(buf) // a hash never fails
	return append(h.Sum(nil)[:digestSize], rank(r))
}

// memory compares a row with what is known of it.
func (c *cleaned) memory(pair *Row) memory {
	switch {
	case pair == nil:
		return unknown
	case len(pair.Digest) == 0:
		return blank
	case len(c.digest) <= digestSize || len(pair.Digest) <= digestSize || !hmac.Equal(c.digest[:digestSize], pair.Digest[:digestSize]):
		return changed
	case c.rank == pair.Digest[digestSize]:
		return same
	case c.worse(pair):
		return raised
	}
	return lowered
}

// worse reports whether the severity of a row is worse than that of its open error, or than the
// row stated when its error ended.
func (c *cleaned) worse(pair *Row) bool {
	if pair.Open {
		return c.rank > 0 && int(c.rank) > pair.Severity.Rank()
	}
	return len(pair.Digest) > digestSize && c.rank > pair.Digest[digestSize]
}

// standing is the error that a row has. If the policy no longer has the table of its
// adoption, its error stays where it is.
func (c *cleaned) standing(p *policy.Policy, pair *Row) standing {
	table, known := p.Table(c.report.Table)
	if known && c.report.EntityID == "" && !table.EntityOptional {
		table = p.OrphanTable
	}
	switch {
	case pair == nil:
		return none
	case !pair.Open:
		return ended
	case !pair.Attempt.IsZero() && pair.Attempt == pair.LeaseToken:
		return trying
	case pair.Step == recoup.StepReplaying:
		return replaying
	case pair.Step == recoup.StepReplayed:
		return replayed
	case !pair.WorkID.IsZero() && pair.EntityID == c.report.EntityID:
		return letter
	case !pair.WorkID.IsZero():
		return other
	case known && pair.Table != table.Name:
		return elsewhere
	case pair.EntityID == c.report.EntityID:
		return open
	}
	return other
}

// past is the report of a row, which may have had an error before. What was written when it happened
// is news, and so is what has failed again, whatever its row says; the rest is history, of
// which nobody is notified.
func (c *cleaned) past(now time.Time, again bool, written time.Time) engine.Past {
	known := !written.IsZero()
	if written.After(now) || !known {
		written = now
	}
	p := engine.Past{Report: c.report, CreatedAt: c.at, Apart: true, Live: known, WrittenAt: written}
	switch {
	case c.at.IsZero():
		p.CreatedAt = written
	case written.Sub(c.at) <= fresh:
	case again:
		p.CreatedAt = written
	default:
		p.Live = false
	}
	return p
}
