package endtoend

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"recoup/internal/redact/redacttest"
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
	onBoth(t, func(t *testing.T, d database) {
		n := startNode(t, d)
		c := &caller{T: t, node: n, key: n.key}
		corpus := redacttest.Planted(7, planted)
		p := &planting{caller: c, corpus: corpus, sent: make([]atomic.Int64, len(corpus))}
		p.everywhere(c.slots())
		for i := range corpus {
			if p.sent[i].Load() == 0 && !testing.Short() {
				t.Errorf("a secret (rule %s) was sent nowhere", corpus[i].Rule)
			}
		}
		p.commandLine()
		shown := p.shown()
		n.stop()
		kept := remains(t, d)
		maps.Copy(kept, shown)
		kept["logs"] = n.logs.String()
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

// How many secrets go through each slot when there is little time. Where people
// write freely it is more, so that all of the corpus is sent.
const (
	share     = 2
	codeShare = 8
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
	for _, form := range s.forms(secret) {
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
		case s.redacts() && len(form) < 500 && (got.status >= 300 || refused):
			p.Errorf("%s: free text is not taken: %s", where, got.body)
		case s.refuses() && !refused:
			p.Errorf("%s: a secret (rule %s) is taken for a name: %s", where, secret.Rule, got.body)
		}
	}
}

// repeats reports whether a text holds a secret, or a good part of it. What JSON
// and policies would write otherwise is not looked for.
func repeats(text string, secret redacttest.Sample) bool {
	if strings.Contains(secret.Secret, `\u`) || strings.Contains(secret.Secret, "&#") { // escapes, as they are and in JSON
		middle := secret.Secret[len(secret.Secret)/4 : len(secret.Secret)*3/4]
		return strings.Contains(text, middle) || strings.Contains(text, strings.NewReplacer(`\`, `\\`, "&", `\u0026`).Replace(middle))
	}
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

// commandLine sends secrets with the program: as messages, as reasons, and in files
// of events.
func (p *planting) commandLine() {
	var lines strings.Builder
	for i := 0; i < len(p.corpus); i += 7 {
		line, err := json.Marshal(map[string]any{"code": "NETWORK_TIMEOUT", "service": "import", "details": map[string]any{"field": p.corpus[i].Text}})
		if err != nil {
			p.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	p.recoup(lines.String(), "events", "send")
	for i := 3; i < len(p.corpus); i += len(p.corpus) / 8 {
		secret := p.corpus[i].Text
		out := p.recoup("", "report", "--table", "outreach.dol_errors", "--entity", p.filled("CLI-{n}", nil), "--code", "NETWORK_TIMEOUT", "--message", "it said "+secret, "--json")
		var made struct {
			ID string `json:"error_id"`
		}
		if err := json.Unmarshal([]byte(out), &made); err == nil && made.ID != "" {
			p.recoup("", "errors", "park", made.ID, "--reason", "see "+secret, "--yes")
		}
		p.recoup("", "report", "--table", "outreach.dol_errors", "--entity", secret, "--code", "NETWORK_TIMEOUT")
	}
}

// recoup runs the program against the node and looks through what it says.
func (p *planting) recoup(in string, args ...string) string {
	command := exec.CommandContext(p.Context(), program(p.T), args...)
	command.Env = append(os.Environ(), "RECOUP_SERVER="+p.url, "RECOUP_KEY="+p.key)
	command.Stdin = strings.NewReader(in)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	_ = command.Run() // a name that is a secret is refused
	p.search("recoup "+args[0], out.String()+said.String())
	return out.String()
}

// shown returns what the node answers to those who read, and the exports.
func (p *planting) shown() map[string]string {
	shown := map[string]string{}
	for _, path := range []string{
		"/metrics", "/v1/errors?limit=1000", "/v1/events?limit=1000", "/v1/events/export?rows=true", "/v1/events/export", "/v1/dead-letters?limit=1000", "/v1/audit?limit=1000",
		"/v1/codes", "/v1/keys", "/v1/policy", "/v1/gate-zero/intakes?limit=1000", "/v1/notices?limit=1000", "/v1/alerts",
	} {
		shown["GET "+path] = p.send(http.MethodGet, path, nil, nil).text
	}
	shown["recoup export"] = p.recoup("", "export", "events", "--rows")
	return shown
}
