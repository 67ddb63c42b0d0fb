package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// eventDecoder reads events. It is not as strict as other bodies are: a field that
// events do not have is left out and counted, as the details of an event are.
type eventDecoder struct{ one, list, document *httpapi.Shape }

// eventDocument is an event, or a list of them under a name of its own.
type eventDocument struct {
	ledger.Incoming
	Events *[]ledger.Incoming `json:"events"`
}

func newEventDecoder() *eventDecoder {
	d := &eventDecoder{one: httpapi.ShapeOf[ledger.Incoming](), document: httpapi.ShapeOf[eventDocument]()}
	d.list = httpapi.ListOf(d.one, maxEvents, tooManyEvents)
	d.document.SetMember("events", d.list)
	return d
}

// eventBatch is what a body holds: the events that could be read, and what is wrong
// with the others.
type eventBatch struct {
	events  []ledger.Incoming
	places  []int // by event: which of the batch it is; nil: in order
	refused []refusedEvent
	list    string // the name of the list that they came in
	single  bool   // the body is an event, not a list
	unknown int    // fields that events do not have
}

// refusedEvent is an item of a batch that is no event.
type refusedEvent struct {
	index int
	err   error
	in    *ledger.Incoming // what could be read of it; nil: nothing
}

// place returns which of the batch an event is.
func (b *eventBatch) place(i int) int {
	if b.places == nil {
		return i
	}
	return b.places[i]
}

// at is where the client wrote an item; nothing if it is alone, or on a line.
func (b *eventBatch) at(index int) string {
	if b.single || b.list == httpapi.MediaNDJSON {
		return ""
	}
	return b.list + "[" + strconv.Itoa(index) + "]"
}

// documents returns for each refused item where its values are found: in the body, or in
// a line of it.
func (b *eventBatch) documents(c *httpapi.Call, refused []refusedEvent) []func() any {
	list := make([]func() any, len(refused))
	for i := range list {
		list[i] = c.Parsed
	}
	if b.list != httpapi.MediaNDJSON {
		return list
	}
	next, index := 0, 0
	for line := range bytes.Lines(c.Body) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		for ; next < len(refused) && refused[next].index == index; next++ {
			list[next] = func() any { return httpapi.Parse(line) }
		}
		index++
	}
	return list
}

// add takes the item that was read last, or notes why it is none. index is its place.
func (b *eventBatch) add(index int, in *ledger.Incoming, err error) {
	if err != nil {
		b.refuse(index, in, err)
		return
	}
	b.events, b.places = append(b.events, *in), append(b.places, index)
}

// refuse notes why an item is no event, and what of it could be read.
func (b *eventBatch) refuse(index int, in *ledger.Incoming, err error) {
	refused := refusedEvent{index: index, err: err}
	if !reflect.ValueOf(*in).IsZero() {
		refused.in = in
	}
	b.refused = append(b.refused, refused)
}

// decode reads the body in the form that its media type names, in turns of the context.
func (d *eventDecoder) decode(ctx context.Context, media string, body []byte) (b *eventBatch, err error) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return nil, fault.New(fault.CodeMalformedJSON, "The body is empty: send an event.")
	case media != fault.MediaJSON:
		b, err = d.lines(ctx, string(body), newPlainReader().read)
	case body[0] == '[':
		b, err = d.array(ctx, body)
	default:
		b, err = d.object(ctx, body)
	}
	if err == nil {
		err = countEvents(len(b.events) + len(b.refused))
	}
	return b, err
}

// array reads a list of events.
func (d *eventDecoder) array(ctx context.Context, body []byte) (*eventBatch, error) {
	b := &eventBatch{}
	err := turn.Each(ctx, 1, func(int) error { return httpapi.ReadWhole(d.list, body, &b.events, &b.unknown) })
	if !httpapi.Within(err, "") {
		return b, err
	}
	var items []json.RawMessage
	if json.Unmarshal(body, &items) != nil {
		return nil, err
	}
	return d.apart(ctx, "", items)
}

// object reads one event or {"events": […]}.
func (d *eventDecoder) object(ctx context.Context, body []byte) (*eventBatch, error) {
	var doc eventDocument
	b := &eventBatch{list: "events"}
	err := turn.Each(ctx, 1, func(int) error { return httpapi.ReadWhole(d.document, body, &doc, &b.unknown) })
	if httpapi.Within(err, "events") {
		var items struct{ Events []json.RawMessage }
		if json.Unmarshal(body, &items) == nil && reflect.ValueOf(doc.Incoming).IsZero() {
			return d.apart(ctx, "events", items.Events)
		}
	}
	switch {
	case err != nil && doc.Events == nil && !reflect.ValueOf(doc.Incoming).IsZero():
		b.single = true
		b.refuse(0, &doc.Incoming, err)
		return b, nil
	case err != nil:
		return nil, err
	case doc.Events == nil:
		b.events, b.single = []ledger.Incoming{doc.Incoming}, true
		return b, nil
	case !reflect.ValueOf(doc.Incoming).IsZero():
		return nil, fault.BadField("events", "alone", "a body is an event or has events, not both; what all events share goes into each of them")
	}
	b.events = *doc.Events
	return b, nil
}

// apart reads the items of a list of which some are no events, each by itself.
func (d *eventDecoder) apart(ctx context.Context, list string, items []json.RawMessage) (*eventBatch, error) {
	b, listed := &eventBatch{list: list}, 0
	err := turn.Each(ctx, len(items), func(i int) error {
		var in ledger.Incoming
		r := httpapi.Reading{At: b.at(i), Unknown: &b.unknown, Listed: &listed}
		b.add(i, &in, r.Item(d.one, items[i], &in))
		return nil
	})
	return b, err
}

// lines reads one event per line. One that is not an event is refused with its number
// and leaves the others alone. What plain does not read is read by encoding/json.
func (d *eventDecoder) lines(ctx context.Context, body string, plain func(string, *ledger.Incoming) bool) (*eventBatch, error) {
	b := &eventBatch{list: httpapi.MediaNDJSON, events: make([]ledger.Incoming, 0, min(strings.Count(body, "\n")+1, maxEvents+1))}
	number, more := 0, true
	err := turn.Each(ctx, maxEvents+1, func(index int) error {
		line := ""
		for ; more && line == ""; number++ {
			line, body, more = strings.Cut(body, "\n")
			line = strings.TrimSpace(line)
		}
		if line == "" {
			return io.EOF
		}
		b.events = append(b.events, ledger.Incoming{})
		in := &b.events[len(b.events)-1]
		if err := d.numbered(number, line, in, plain, &b.unknown); err != nil {
			read := *in
			b.events = b.events[:len(b.events)-1]
			b.refuse(index, &read, err)
		} else {
			b.places = append(b.places, index)
		}
		return nil
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

// numbered reads the event of a line.
func (d *eventDecoder) numbered(number int, line string, in *ledger.Incoming, plain func(string, *ledger.Incoming) bool, unknown *int) error {
	if len(line) >= maxEventLine {
		return fault.New(fault.CodePayloadTooLarge, "Line %d is longer than %d bytes.", number, maxEventLine).With("line", number)
	}
	if plain(line, in) {
		return nil
	}
	err := d.line(line, in, unknown)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == fault.CodeMalformedJSON {
		return fault.New(fault.CodeMalformedJSON, "Line %d is not an event.", number).With("line", number)
	}
	return err
}

// line reads an event, however it is written.
func (d *eventDecoder) line(line string, in *ledger.Incoming, unknown *int) error {
	*in = ledger.Incoming{}
	return httpapi.ReadWhole(d.one, []byte(line), in, unknown)
}

func countEvents(n int) error {
	if n > maxEvents {
		return tooManyEvents()
	}
	if n == 0 {
		return fault.BadField("events", "items", "events must not be empty")
	}
	return nil
}

func tooManyEvents() error {
	return fault.New(fault.CodePayloadTooLarge, "A batch may have %d events.", maxEvents).With("limit", maxEvents)
}
