package endtoend

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// planted is how many secrets are sent.
const planted = 1000

// TestPlantedSecrets sends a thousand secrets, bare and disguised, through every
// text of every operation and through the command line, and then looks for them in
// everything that is kept or shown.
func TestPlantedSecrets(t *testing.T) {
	if kinds := redacttest.Kinds(); kinds < 200 {
		t.Errorf("there are only %d kinds of secrets", kinds)
	}
	onEither(t, func(t *testing.T, d database) {
		n := startNode(t, d)
		c := &caller{T: t, node: n, key: n.Key}
		corpus := redacttest.Planted(7, planted)
		p := &planting{caller: c, corpus: corpus, tracer: newTracer(corpus), sent: make([]atomic.Int64, len(corpus))}
		slots := c.slots()
		p.sing(slots)
		p.everywhere(slots)
		for i := range corpus {
			if p.sent[i].Load() == 0 && !testing.Short() {
				t.Errorf("a secret (rule %s) was sent nowhere", corpus[i].Rule)
			}
		}
		p.commandLine()
		p.plainSQL(d)
		shown := p.shown()
		n.Stop()
		kept := remains(t, d)
		p.heard(kept)
		maps.Copy(kept, shown)
		kept["logs"], kept["answers"] = n.logs.String(), p.answers.String()
		for place, text := range kept {
			p.search(place, text)
		}
	})
}

// planting sends the corpus.
type planting struct {
	*caller
	*tracer
	corpus   []redacttest.Sample
	sent     []atomic.Int64
	answers  text              // all of them
	canaries map[string]string // texts that are no secrets and must be found, with where they were sent
}

// How many secrets go through each slot when there is little time. Where people
// write freely it is more, so that all of the corpus is sent.
const (
	share     = 2
	codeShare = 8
)

// everywhere sends secrets through the slots: all of them through each, or a
// share, which is another one for every slot.
func (p *planting) everywhere(slots []slot) {
	var work sync.WaitGroup
	jobs := make(chan func())
	for range 4 {
		work.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	var next [3]int // of the corpus: for names, for texts, and for codes
	free := 0
	for _, s := range slots {
		if s.free() && s.name() != "text" { // not all of them go into a policy
			free++
		}
	}
	textShare := len(p.corpus)/free + 2
	for _, s := range slots {
		at, left := &next[0], share
		switch {
		case s.name() == "code":
			at, left = &next[2], codeShare
		case s.free():
			at, left = &next[1], textShare
		}
		switch {
		case soaking():
			left = len(p.corpus)
		case testing.Short():
			left = 1
		}
		planned := left
		for range p.corpus {
			i := *at % len(p.corpus)
			if left == 0 {
				break
			}
			*at++
			if s.takes(p.corpus[i]) {
				left--
				jobs <- func() { p.try(s, i) }
			}
		}
		if left == planned {
			p.Errorf("%s: no secret was sent through it", s.where())
		}
	}
	close(jobs)
	work.Wait()
	p.Logf("%d secrets, %d places", len(p.corpus), len(slots))
}

// try sends one secret through a slot.
func (p *planting) try(s slot, i int) {
	secret := p.corpus[i]
	p.sent[i].Add(1)
	free := []string{"field", "expected_etag", "existing_id", "Retry-After", "note"}
	for _, form := range s.forms(secret) {
		method, path, header, body := p.request(s, free[i%len(free)], p.filled(form, nil))
		got := p.send(method, path, header, body)
		where := s.where()
		_, _ = p.answers.Write([]byte(got.text + "\n"))
		if slices.ContainsFunc(secret.Traces(), func(trace string) bool { return strings.Contains(got.text, trace) }) {
			p.Errorf("%s: the answer repeats a secret (rule %s): %s", where, secret.Rule, got.text)
		}
		refused := strings.Contains(got.text, `"error_code":"VALIDATION_ERROR"`)
		switch {
		case got.status >= 500:
			p.Errorf("%s: %q is answered with %s", where, form, got.body)
		case s.redacts() && len(form) < 500 && (got.status >= 300 || refused):
			p.Errorf("%s: free text is not taken: %s", where, got.body)
		case s.refuses() && !refused:
			p.Errorf("%s: a secret (rule %s) is taken for a name: %s", where, secret.Rule, got.body)
		}
	}
}

// search looks for every secret, plain, disguised and in parts.
func (p *planting) search(place, text string) {
	for rule, excerpt := range p.places(text) {
		p.Errorf("%s: found a secret (rule %s): %q", place, rule, excerpt)
	}
}

// shown returns what the node answers to those who read, and the exports.
func (p *planting) shown() map[string]string {
	shown := map[string]string{}
	for path, must := range map[string]string{
		"/metrics": "recoup_", "/v1/errors?limit=1000": "[redacted:", "/v1/events?limit=1000": "event_id", "/v1/events/export?rows=true": "NETWORK_TIMEOUT", "/v1/events/export": "NETWORK_TIMEOUT",
		"/v1/dead-letters?limit=1000": "[redacted:", "/v1/dead-letter-groups": "group_id", "/v1/audit?limit=1000": "[redacted:", "/v1/codes": "E2E_", "/v1/keys": "key_id", "/v1/policy": "version",
		"/v1/gate-zero/intakes?limit=1000": "intake_id", "/v1/notices?limit=1000": "{", "/v1/alerts": "{", "/v1/silences": "silence_id", "/v1/pauses": "[redacted:", "/v1/replays": "[redacted:",
	} {
		got := p.send(http.MethodGet, path, nil, nil)
		if got.status != http.StatusOK || !strings.Contains(string(got.body), must) {
			p.Errorf("GET %s is answered with %d and without %q", path, got.status, must)
		}
		shown["GET "+path] = got.text
	}
	shown["recoup export"] = p.recoup("", "export", "events", "--rows")
	return shown
}
