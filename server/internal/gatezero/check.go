package gatezero

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/check"
)

// The bounds of what callers send, in bytes.
const (
	maxCompany = 300
	maxDomain  = 253
	maxURL     = 500
	maxState   = 100
)

// CheckBatch says what is wrong with the name of a batch.
func CheckBatch(id string) error {
	var f check.Fields
	f.RequiredIdentifier("batch_id", id)
	return f.Err()
}

// Check brings a candidate and the name of its batch into the form in which they
// are kept, and says everything that is wrong with them.
func Check(i *recoup.Intake) error {
	var bad fault.FieldErrors
	bad.Merge(clean(i))
	if check.Normalize(&i.BatchID); i.BatchID != "" {
		bad.Merge(CheckBatch(i.BatchID))
	}
	return bad.Err()
}

// clean brings a candidate into the form in which it is kept, and says what is
// wrong with it. A company's name is free text, from which secrets are taken out;
// the rest must identify and is refused.
func clean(i *recoup.Intake) error {
	for _, s := range []*string{&i.CompanyName, &i.Domain, &i.LinkedInURL, &i.State, &i.ImportKey} {
		*s = check.Normalized(strings.TrimSpace(*s))
	}
	var f check.Fields
	switch {
	case i.CompanyName == "":
		f.Addf("company_name", "required", "company_name is required")
	case len(i.CompanyName) > maxCompany:
		f.Addf("company_name", "max_length", "company_name may have %d bytes, not %d", maxCompany, len(i.CompanyName))
	case !utf8.ValidString(i.CompanyName) || strings.ContainsFunc(i.CompanyName, unicode.IsControl):
		f.Addf("company_name", "printable", "company_name must be valid UTF-8 without control characters")
	default:
		i.CompanyName, _ = redact.Default().String(i.CompanyName)
	}
	if host, ok := hostOf(i.Domain); ok {
		i.Domain = host
	} else {
		f.Addf("domain", "format", "domain must be a name such as example.com")
	}
	f.Plain("domain", i.Domain, maxDomain)
	f.Plain("linkedin_url", i.LinkedInURL, maxURL)
	if !redact.WebAddress(i.LinkedInURL) {
		f.Addf("linkedin_url", "scheme", "linkedin_url must begin with https:// or http://, or have no scheme at all; write https://www.linkedin.com/company/…")
	}
	f.Plain("state", i.State, maxState)
	f.Plain("import_key", i.ImportKey, check.MaxIdentifier)
	return f.Err()
}

// hostOf reads a domain, which people often write as an address.
func hostOf(s string) (host string, ok bool) {
	if s == "" {
		return "", true
	}
	for _, scheme := range []string{"https://", "http://"} {
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			s = s[len(scheme):]
		}
	}
	s, _, _ = strings.Cut(s, "/")
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	labels := 0
	for label := range strings.SplitSeq(s, ".") {
		labels++
		if !isLabel(label) {
			return s, false
		}
	}
	return s, labels > 1
}

// isLabel reports whether a part of a name may be one; letters beyond ASCII are
// the resolver's business.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
