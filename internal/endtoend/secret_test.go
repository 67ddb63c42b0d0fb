package endtoend

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"recoup/internal/redact/redacttest"
)

// TestPlantedSecrets sends secrets through every text of every operation, and then
// looks for them in everything that is kept or shown.
func TestPlantedSecrets(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		n := startNode(t, d)
		c := &caller{T: t, node: n, key: n.key}
		corpus := redacttest.Samples(7)
		p := &planting{caller: c, corpus: corpus, sent: make([]atomic.Int64, len(corpus))}
		p.everywhere(c.slots())
		for i := range corpus {
			if p.sent[i].Load() == 0 && !testing.Short() {
				t.Errorf("a secret (rule %s) was sent nowhere", corpus[i].Rule)
			}
		}
		metrics := c.send(http.MethodGet, "/metrics", nil, nil)
		n.stop()
		kept := remains(t, d)
		kept["metrics"], kept["logs"] = metrics.text, n.logs.String()
		sings := 0
		for place, text := range kept {
			p.search(place, text)
			sings += strings.Count(text, canary)
		}
		if sings == 0 {
			t.Errorf("what was looked through does not hold what was stored")
		}
	})
}

// canary is a text that is no secret, to be found.
const canary = "a canary sings"

// planting sends the corpus.
type planting struct {
	*caller
	corpus []redacttest.Sample
	sent   []atomic.Int64
}

// How many secrets go through each slot when there is little time: more where
// people write freely, since all of the corpus fits there.
const (
	share     = 2
	textShare = 8
)

// everywhere sends secrets through the slots: all of them through each, or a
// share, which is another one for every slot.
func (p *planting) everywhere(slots []slot) {
	p.made("/v1/errors", strings.Replace(report, "{", `{"message": "`+canary+`", `, 1), new(any))
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
	for _, s := range slots {
		at, left := &next[0], share
		switch {
		case s.name() == "code":
			at, left = &next[2], textShare
		case s.free():
			at, left = &next[1], textShare
		}
		switch {
		case soaking():
			left = len(p.corpus)
		case testing.Short():
			left = 1
		}
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
	for _, form := range s.forms(secret.Text) {
		method, path, header, body := p.request(s, free[i%len(free)], p.filled(form, nil))
		got := p.send(method, path, header, body)
		where := s.method + " " + s.route + ", " + s.in + " " + strings.Join(s.at, ".")
		if repeats(got.text, secret) {
			p.Errorf("%s: the answer repeats a secret (rule %s): %s", where, secret.Rule, got.text)
		}
		refused := strings.Contains(got.text, `"error_code":"VALIDATION_ERROR"`)
		switch {
		case got.status >= 500:
			p.Errorf("%s: %q is answered with %s", where, form, got.body)
		case s.redacts() && (got.status >= 300 || refused):
			p.Errorf("%s: free text is not taken: %s", where, got.body)
		case s.refuses() && !refused:
			p.Errorf("%s: a secret (rule %s) is taken for a name: %s", where, secret.Rule, got.body)
		}
	}
}

// repeats reports whether a text holds a secret, or a good part of it. What JSON
// and policies would write otherwise is not looked for.
func repeats(text string, secret redacttest.Sample) bool {
	parts := strings.FieldsFunc(secret.Secret, func(r rune) bool { return strings.ContainsRune("\"\\\n\r<>&", r) })
	needle := slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
	if strings.Contains(text, needle) {
		return true
	}
	return len(needle) >= 16 && strings.Contains(text, needle[len(needle)/2:])
}

// search looks for every secret.
func (p *planting) search(place, text string) {
	found := map[string]int{}
	for _, secret := range p.corpus {
		if repeats(text, secret) {
			found[secret.Rule]++
		}
	}
	if len(found) > 0 {
		p.Errorf("%s: found secrets of the rules %v", place, slices.Sorted(maps.Keys(found)))
	}
}
