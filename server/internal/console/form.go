package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Limits of a form.
const (
	maxForm      = 2 << 20  // ten thousand ids, and a policy
	maxSmallForm = 64 << 10 // of a route without a page; and what is parsed without a turn
)

// readForm reads and parses the form of a request. The body is read first, so that one that arrives
// slowly holds no turn. Large forms are parsed in turns by key, because each takes a processor for
// milliseconds.
func (v *Request) readForm(p Page) error {
	media, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if (err != nil || media != "application/x-www-form-urlencoded") && v.r.ContentLength != 0 {
		return fault.New(fault.CodeUnsupportedContentType, "Send the form as application/x-www-form-urlencoded.")
	}
	most := int64(maxForm)
	if p.Name == "" {
		most = maxSmallForm
	}
	text, err := readBody(v.w, v.r, most)
	if err != nil {
		return err
	}
	parse := func() (err error) {
		if v.r.PostForm, err = url.ParseQuery(text); err != nil {
			return fault.Wrap(err, fault.CodeValidationError, "The form cannot be read: it is malformed or has too many fields.")
		}
		v.r.Form = v.r.PostForm
		return nil
	}
	if len(text) <= maxSmallForm {
		return parse()
	}
	return v.inTurn(parse)
}

// inTurn does what takes a processor for long, in turns by key, so that the pages of one key do not
// delay other requests.
func (v *Request) inTurn(do func() error) error {
	caller := recoup.ID(v.session.keyHash[:len(recoup.ID{})])
	return turn.Each(turn.With(v.r.Context(), v.console.turns, caller), 1, func(int) error { return do() })
}

// gone reports whether the browser no longer waits for an answer.
func (v *Request) gone() bool { return errors.Is(v.r.Context().Err(), context.Canceled) }

// readBody reads a form of at most so many bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) (string, error) {
	tooLarge := fault.New(fault.CodePayloadTooLarge, "The form may have %d bytes.", most).With("limit", most)
	if r.ContentLength > most {
		return "", tooLarge
	}
	var body bytes.Buffer
	body.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead)
	if _, err := io.Copy(&body, http.MaxBytesReader(w, r.Body, most)); err != nil {
		return "", tooLarge
	}
	return body.String(), nil
}
