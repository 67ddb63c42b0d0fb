package api

import (
	"bytes"
	"reflect"
	"strings"

	"recoup/fault"
	"recoup/internal/ledger"
)

// ndjson is one event per line.
const ndjson = "application/x-ndjson"

// eventMedia are the forms in which events come; NDJSON goes by three names.
var eventMedia = []string{fault.MediaJSON, ndjson, "application/ndjson", "application/jsonl"}

// eventDecoder reads events. It is not as strict as other bodies are: a field that
// events do not have is left out and counted, as the details of an event are.
type eventDecoder struct{ one, list, document *shape }

// eventDocument is an event, or a list of them under a name of its own.
type eventDocument struct {
	ledger.Incoming
	Events *[]ledger.Incoming `json:"events"`
}

func newEventDecoder() *eventDecoder {
	d := &eventDecoder{one: shapeOf(reflect.TypeFor[ledger.Incoming]()), document: shapeOf(reflect.TypeFor[eventDocument]())}
	most := maxEvents
	d.list = &shape{form: listing, items: d.one, length: rule{utmost: &most}, tooMany: tooManyEvents}
	events := d.document.members["events"]
	d.document.members["events"] = member{events.index, d.list}
	return d
}

// decode reads the body in the form that its media type names. It returns how many
// fields it did not know.
func (d *eventDecoder) decode(media string, body []byte) (batch []ledger.Incoming, unknown int, err error) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return nil, 0, fault.New(fault.CodeMalformedJSON, "The body is empty: send an event.")
	case media != fault.MediaJSON:
		batch, err = d.lines(string(body), newPlainReader().read, &unknown)
	case body[0] == '[':
		err = readWhole(d.list, body, &batch, &unknown)
	default:
		batch, err = d.object(body, &unknown)
	}
	if err == nil {
		err = countEvents(len(batch))
	}
	return batch, unknown, err
}

// object reads one event or {"events": […]}.
func (d *eventDecoder) object(body []byte, unknown *int) ([]ledger.Incoming, error) {
	var doc eventDocument
	if err := readWhole(d.document, body, &doc, unknown); err != nil {
		return nil, err
	}
	switch {
	case doc.Events == nil:
		return []ledger.Incoming{doc.Incoming}, nil
	case !reflect.ValueOf(doc.Incoming).IsZero():
		return nil, fault.Validation(fault.FieldError{Field: "events", Constraint: "alone",
			Message: "a body is an event or has events, not both; what all events share goes into each of them"})
	}
	return *doc.Events, nil
}

// lines reads one event per line. A line that is not an event is refused with its
// number, and nothing is kept: half a batch would be hard to repeat. What plain does
// not read is read by encoding/json.
func (d *eventDecoder) lines(body string, plain func(string, *ledger.Incoming) bool, unknown *int) ([]ledger.Incoming, error) {
	list := make([]ledger.Incoming, 0, min(strings.Count(body, "\n")+1, maxEvents+1))
	for number, more := 1, true; more && len(list) <= maxEvents; number++ {
		var line string
		line, body, more = strings.Cut(body, "\n")
		if len(line) >= maxEventLine {
			return nil, fault.New(fault.CodePayloadTooLarge, "Line %d is longer than %d bytes.", number, maxEventLine).With("line", number)
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		list = append(list, ledger.Incoming{})
		in := &list[len(list)-1]
		if !plain(line, in) && d.line(line, in, unknown) != nil {
			return nil, fault.New(fault.CodeMalformedJSON, "Line %d is not an event.", number).With("line", number)
		}
	}
	return list, nil
}

// line reads an event, however it is written.
func (d *eventDecoder) line(line string, in *ledger.Incoming, unknown *int) error {
	*in = ledger.Incoming{}
	return readWhole(d.one, []byte(line), in, unknown)
}

// readWhole reads a document that is refused as a whole.
func readWhole(s *shape, document []byte, into any, unknown *int) error {
	r := reading{unknown: unknown}
	if err := r.read(s, document, into); err != nil {
		return err
	}
	return r.found.Err()
}

func countEvents(n int) error {
	if n > maxEvents {
		return tooManyEvents()
	}
	if n == 0 {
		return fault.Validation(fault.FieldError{Field: "events", Constraint: "items", Message: "events must not be empty"})
	}
	return nil
}

func tooManyEvents() error {
	return fault.New(fault.CodePayloadTooLarge, "A batch may have %d events.", maxEvents).With("limit", maxEvents)
}
