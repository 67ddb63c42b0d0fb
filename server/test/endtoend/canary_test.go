package endtoend

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// sing sends, through every place for free text, a text that is no secret. It must
// be taken, and found in what the node leaves behind: so what is looked through for
// secrets is where they would be.
func (p *planting) sing(slots []slot) {
	p.canaries = map[string]string{}
	for i, s := range slots {
		if !s.free() && s.name() != "note" || s.closed() {
			continue
		}
		song := fmt.Sprintf("canary-%d-sings", i)
		form := s.forms(redacttest.Sample{Text: song})[0]
		method, path, header, body := p.request(s, "field", p.filled(form, nil))
		got := p.send(method, path, header, body)
		if got.status >= http.StatusMultipleChoices || strings.Contains(got.text, `"error_code":"VALIDATION_ERROR"`) {
			p.Errorf("%s: a harmless text is not taken: %s", s.where(), got.body)
		} else if !s.forgets() {
			p.canaries[song] = s.where()
		}
	}
}

// heard looks for every canary in what was left behind.
func (p *planting) heard(kept map[string]string) {
	for song, where := range p.canaries {
		found := false
		for _, text := range kept {
			found = found || strings.Contains(text, song)
		}
		if !found {
			p.Errorf("%s: a harmless text is not in what was looked through", where)
		}
	}
}

// closed reports whether the slot takes no free text after all: it is for one of a
// list of words, for a part of an example that must be whole, or for events in
// another form than those of its body.
func (s *slot) closed() bool {
	switch s.route {
	case "/v1/gate-zero/results":
		return s.name() == "reason"
	case "/v1/codes/{code}":
		return s.at[0] == "example"
	case "/v1/events":
		form := map[string]string{"events": `{"events"`, item: "["}[s.at[0]]
		return form == "" && s.body != event || !strings.HasPrefix(s.body, form)
	}
	return false
}

// forgets reports whether what is sent through the slot is not kept: it asks for
// something, tries something out, finds nothing to do, or is kept as a hash.
func (s *slot) forgets() bool {
	idle := []string{"/v1/replays/{id}/resume", "/v1/operations/{id}/pause", "/v1/notices/resend", "/v1/retries/{id}/extend", "/v1/payload-keys/wrap", "/v1/bus/quarantine/retry", "/v1/bus/quarantine/drop"}
	released := s.method == http.MethodDelete && s.route == "/cl/gate-zero/kill-switch" // of a batch that runs
	return released || s.in != "body" || s.name() == "tenant" || s.route == "/v1/classify" || s.route == "/v1/policy/plan" ||
		strings.Contains(s.body, `"preview": true`) || slices.Contains(idle, s.route)
}
