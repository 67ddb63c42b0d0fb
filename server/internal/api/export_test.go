package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/ledger"
)

// RouteInfo is what the tests see of a route.
type RouteInfo struct {
	httpapi.RouteInfo
	Open         bool
	Global       bool
	Keyed, Twice bool
}

// Permits reports whether a role may call the route, by the table alone.
func (r RouteInfo) Permits(role httpapi.Role) bool {
	return role == httpapi.RoleAdmin || slices.Contains(r.Roles, role)
}

// Name names the route as http.ServeMux does.
func (r RouteInfo) Name() string { return r.Method + " " + r.Path }

// RouteInfos lists the routes of this package and of slices, in the order of the document.
func RouteInfos(added ...httpapi.Set) []RouteInfo {
	all, err := httpapi.InOrder(sets(added))
	if err != nil {
		panic(err)
	}
	var list []RouteInfo
	for _, r := range all {
		list = append(list, RouteInfo{
			RouteInfo: r.Info, Open: len(r.Info.Roles) == 0, Global: r.Info.AllHubs,
			Keyed: r.Info.Repeat == httpapi.RepeatKeyed, Twice: r.Info.Repeat == httpapi.RepeatNotIdempotent,
		})
	}
	return list
}

var decoder = newEventDecoder()

// DecodeEvents decodes a body of events.
func DecodeEvents(media string, body []byte) ([]ledger.Incoming, int, error) {
	return opened(decoder.decode(context.Background(), media, body))
}

// opened is a batch without its refusals, of which the first is returned.
func opened(b *eventBatch, err error) ([]ledger.Incoming, int, error) {
	switch {
	case err != nil:
		return nil, 0, err
	case len(b.refused) > 0:
		return nil, b.unknown, b.refused[0].err
	}
	return b.events, b.unknown, nil
}

// EventLimits are the bounds of a batch of events.
const (
	MaxEvents    = maxEvents
	MaxEventLine = maxEventLine
)

// DecodeLines reads a body of lines.
func DecodeLines(body string) ([]ledger.Incoming, int, error) {
	return DecodeEvents(httpapi.MediaNDJSON, []byte(body))
}

// DecodeLinesSlowly reads a body of lines by encoding/json alone.
func DecodeLinesSlowly(body string) ([]ledger.Incoming, int, error) {
	body = strings.TrimSpace(body)
	if body == "" {
		return DecodeLines(body)
	}
	b, err := decoder.lines(context.Background(), body, func(string, *ledger.Incoming) bool { return false })
	return opened(b, cmp.Or(err, countEvents(len(b.events)+len(b.refused))))
}

// ReadsPlainly reports whether a line is read without encoding/json.
func ReadsPlainly(line string) bool { return newPlainReader().read(line, new(ledger.Incoming)) }

// Encode writes an answer.
func Encode(out any) ([]byte, error) { return encode(out) }
