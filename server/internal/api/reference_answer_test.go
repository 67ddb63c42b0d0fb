package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/api"
	features "github.com/recoup-dev/recoup/server/internal/slices"
	"github.com/recoup-dev/recoup/server/internal/test/golden"
)

// recorded is the file of the answers that the document shows.
const recorded = "answers.json"

// The answers that the document shows are those of a node: each has the members that the
// same call is answered today, and fits its schema.
func TestReferenceAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withPipelines()
	got := map[string]json.RawMessage{}
	for _, turn := range []int{0, 1, 2} { // lists are asked for when there is something in them
		for _, rt := range routeInfos() {
			if turn == turnOf(rt) {
				got[rt.Name()] = w.recorded(rt)
			}
		}
	}
	if golden.Updating() {
		for _, s := range features.All() { // each keeps those of its own routes
			own := map[string]json.RawMessage{}
			for _, rt := range api.RouteInfos(s.Routes) {
				own[rt.Name()] = got[rt.Name()]
			}
			for _, rt := range api.RouteInfos() {
				delete(own, rt.Name())
			}
			for name := range own {
				delete(got, name)
			}
			if len(own) > 0 {
				record(t, filepath.Join("..", s.Name, "web", recorded), own)
			}
		}
		record(t, recorded, got)
		return
	}
	for name, answer := range got {
		method, path, _ := strings.Cut(name, " ")
		op := follow(w.openapi(), "#/paths")[path].(object)[strings.ToLower(method)].(object)
		var shown any
		for status, response := range op["responses"].(object) {
			if status != "default" {
				shown = response.(object)["content"].(object)["application/json"].(object)["example"]
			}
		}
		if have, want := ways(shown), ways(parsed(t, answer)); !slices.Equal(have, want) {
			t.Errorf("%s is answered\n%s\nand the document shows\n%s\nAccept it: go test ./server/internal/api -run TestReferenceAnswers -update", name, want, have)
		}
	}
}

// record writes answers to a file.
func record(t *testing.T, file string, answers map[string]json.RawMessage) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := errors.Join(encoder.Encode(answers), os.WriteFile(file, text.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// turnOf is when a route is asked: what writes first, then what shows one thing, for which
// an example makes it, then lists.
func turnOf(rt api.RouteInfo) int {
	switch {
	case rt.Method != http.MethodGet:
		return 0
	case strings.Contains(rt.Path, "{"):
		return 1
	}
	return 2
}

// recorded returns what a route answers, with ids, secrets and lists made short and alike.
func (w *world) recorded(rt api.RouteInfo) json.RawMessage {
	w.Helper()
	path, body := examples()[rt.Name()].make(w, dol)
	switch {
	case rt.Name() == "POST /v1/retries/claim":
		w.report(dol, w.entity())
		w.Wait(time.Hour)
	case slices.Contains([]string{"GET /v1/silences", "GET /v1/errors/archived"}, rt.Name()): // whose list would be empty, or refused
	case rt.Method == http.MethodGet && !strings.Contains(rt.Path, "{") && strings.Contains(path, "?") && !strings.Contains(path, "batch_id"):
		path, _, _ = strings.Cut(path, "?")
	}
	got := w.do("admin", rt.Method, path, body).ok()
	return plain(w.T, got.Body.Bytes())
}

var (
	anID      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	aSecret   = regexp.MustCompile(`rdb_[A-Za-z0-9_]{9,}`)
	aRequest  = regexp.MustCompile(`"request_id":"[^"]*"`)
	longWords = regexp.MustCompile(`"[^" ]{90,}"`)
)

// plain is an answer as it is shown.
func plain(t *testing.T, answer []byte) json.RawMessage {
	t.Helper()
	var out bytes.Buffer
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := shorten(decoder, &out, false); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	text := anID.ReplaceAllStringFunc(out.String(), func(id string) string {
		if known[id] == "" {
			known[id] = fmt.Sprintf("0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b%02x", 0x67+len(known))
		}
		return known[id]
	})
	text = aSecret.ReplaceAllString(text, "rdb_live_shown_only_once")
	text = aRequest.ReplaceAllString(text, `"request_id":"req_5b6e0f1c2d3a"`)
	return json.RawMessage(longWords.ReplaceAllStringFunc(text, func(s string) string { return s[:40] + `…"` }))
}

// shorten copies JSON in its order, with one item of each list.
func shorten(in *json.Decoder, out *bytes.Buffer, skip bool) error {
	token, err := in.Token()
	if err != nil {
		return err
	}
	write := func(s string) {
		if !skip {
			out.WriteString(s)
		}
	}
	delim, nested := token.(json.Delim)
	if !nested {
		text, err := json.Marshal(token)
		write(string(text))
		return err
	}
	write(delim.String())
	for n := 0; in.More(); n++ {
		if delim == '{' {
			name, err := in.Token()
			if err != nil {
				return err
			}
			if n > 0 {
				write(",")
			}
			write(fmt.Sprintf("%q:", name))
		}
		if err := shorten(in, out, skip || delim == '[' && n > 0); err != nil {
			return err
		}
	}
	end, err := in.Token()
	write(fmt.Sprint(end))
	return err
}

func parsed(t *testing.T, text []byte) (v any) {
	t.Helper()
	decodeInto(t, text, &v)
	return v
}

// ways lists the ways to all values of JSON.
func ways(v any) []string {
	var list []string
	walk(v, func(at string, o object) {
		for name := range o {
			list = append(list, at+"/"+name)
		}
	})
	slices.Sort(list)
	return list
}
