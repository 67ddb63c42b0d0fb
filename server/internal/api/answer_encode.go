package api

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// encode writes an answer as JSON. What is asked for so often, or in such numbers,
// that finding out about its type anew every time shows is written by hand, to the
// same bytes.
func encode(out any) ([]byte, error) {
	var w writer
	switch v := out.(type) {
	case recoup.PromotionStatus:
		w.b = make([]byte, 0, 512)
		w.gate(&v)
	case recoup.RetryClaimed:
		w.b = make([]byte, 0, 64+len(v.Errors)*errorSize)
		w.claimed(&v)
	case recoup.ActResultBatch:
		w.b = make([]byte, 0, 64+len(v.Items)*errorSize)
		w.acted(&v)
	default:
		return json.Marshal(out)
	}
	return w.b, w.err
}

// writer writes JSON as encoding/json does, a member at a time. Names come with
// their quotes and the colon. Methods that end in Or leave out what is not set.
type writer struct {
	b   []byte
	err error
}

// name begins a member.
func (w *writer) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, name...)
}

// string writes a text.
func (w *writer) string(s string) {
	b, err := httpapi.AppendString(w.b, s)
	w.b = b
	if w.err == nil {
		w.err = err
	}
}

// any writes what is rare.
func (w *writer) any(v any) {
	b, err := json.Marshal(v)
	w.b = append(w.b, b...)
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) text(name, s string) {
	w.name(name)
	w.string(s)
}

func (w *writer) textOr(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *writer) id(name string, id recoup.ID) {
	w.name(name)
	w.b = append(w.b, '"')
	if !id.IsZero() {
		w.b, _ = id.AppendText(w.b) // which never fails
	}
	w.b = append(w.b, '"')
}

func (w *writer) idOr(name string, id recoup.ID) {
	if !id.IsZero() {
		w.id(name, id)
	}
}

func (w *writer) time(name string, t time.Time) {
	w.name(name)
	text, err := t.AppendText(append(w.b, '"'))
	if err != nil {
		w.any(t) // which fails, too
		return
	}
	w.b = text
	w.b = append(w.b, '"')
}

func (w *writer) timeOr(name string, t time.Time) {
	if !t.IsZero() {
		w.time(name, t)
	}
}

func (w *writer) flag(name string, v bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) flagOr(name string, v bool) {
	if v {
		w.flag(name, v)
	}
}

func (w *writer) number(name string, n int) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, int64(n), 10)
}

func (w *writer) numberOr(name string, n int) {
	if n != 0 {
		w.number(name, n)
	}
}

// list writes n items between brackets.
func (w *writer) list(name string, n int, item func(i int)) {
	w.name(name)
	w.b = append(w.b, '[')
	for i := range n {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, '{')
		item(i)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}
