package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/mail"
	"net/url"
	"regexp"

	"github.com/recoup-dev/recoup/fault"
)

// decode reads the JSON body of a request. Its failures are those of the
// request's form: UNSUPPORTED_CONTENT_TYPE, PAYLOAD_TOO_LARGE, MALFORMED_JSON
// and, where a member has the wrong type, SCHEMA_INVALID.
func decode(c call, into any) error {
	header := c.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(header); err != nil || media != fault.MediaJSON {
		return fault.New(fault.CodeUnsupportedContentType, "The body must be JSON, and Content-Type must say so.").
			With("content_type", header).With("supported", []string{fault.MediaJSON})
	}
	data, err := io.ReadAll(c.Body)
	if err != nil {
		return fault.From(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		e := fault.From(err)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			e = e.With("offset", syntax.Offset)
		}
		return e
	}
	return nil
}

// fields collects what is wrong with a request, so that a caller learns all of
// it at once.
type fields []fault.FieldError

// want notes a bad field unless ok. The value goes back to the caller, as spec
// 001 shows it: nothing that this API accepts is a secret.
func (f *fields) want(ok bool, field, value, constraint, message string) {
	if !ok {
		*f = append(*f, fault.FieldError{Field: field, Value: value, Safe: true, Constraint: constraint, Message: message})
	}
}

// err returns the VALIDATION_ERROR that names all bad fields, or nil.
func (f *fields) err() error {
	if len(*f) == 0 {
		return nil
	}
	return fault.Validation(*f...)
}

var (
	companyPattern = regexp.MustCompile(`^CO-\d{8}-\d{6}$`)
	slotPattern    = regexp.MustCompile(`^SL-CO-\d{8}-\d{6}-[A-Z]+$`)
	personPattern  = regexp.MustCompile(`^PE-\d{8}-\d{6}$`)
)

func (f *fields) wantCompany(uid string) {
	f.want(companyPattern.MatchString(uid), "company_uid", uid, "pattern", "Expected CO, a date and a number: CO-YYYYMMDD-######.")
}

func (f *fields) wantSlot(uid string) {
	f.want(slotPattern.MatchString(uid), "slot_uid", uid, "pattern", "Expected SL, a company and an office: SL-CO-YYYYMMDD-######-CEO.")
}

func (f *fields) wantPerson(uid string) {
	f.want(personPattern.MatchString(uid), "person_uid", uid, "pattern", "Expected PE, a date and a number: PE-YYYYMMDD-######.")
}

func isEmail(s string) bool {
	address, err := mail.ParseAddress(s)
	return err == nil && address.Address == s
}

func isWebsite(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
