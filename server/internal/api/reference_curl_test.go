package api_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

var curlExample = regexp.MustCompile(`(?s)<pre class="curl"[^>]*><code>(.*?)</code></pre>`)

// Every command of the reference can be pasted as it stands: it is read as a shell reads
// it and sent to a node. One that names nothing made up succeeds. One that names an id
// that nothing has succeeds as well, or is refused because there is nothing of that id:
// with NOT_FOUND from its route, or LEASE_LOST. What is answered item by item is held to
// the same.
func TestReferenceCommands(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{MasterKey: []byte("0123456789abcdef0123456789abcdef")})
	var doc object
	decodeInto(t, fetched(t, n.URL+"/openapi.json"), &doc)
	commands, changes := 0, []string{}
	for _, tag := range doc["tags"].([]any) {
		page := string(fetched(t, n.URL+"/docs/"+strings.ToLower(strings.ReplaceAll(tag.(object)["name"].(string), " ", "-"))))
		for _, found := range curlExample.FindAllStringSubmatch(page, -1) {
			command := html.UnescapeString(found[1])
			commands++
			if strings.Contains(command, "-X PUT "+n.URL+"/v1/policy") { // after which there are other tables
				changes = append(changes, command)
				continue
			}
			holdCommand(t, command, n.Key)
		}
	}
	for _, command := range changes {
		holdCommand(t, command, n.Key)
	}
	operations := 0
	for _, methods := range doc["paths"].(object) {
		operations += len(methods.(object))
	}
	if commands != operations || len(changes) != 1 {
		t.Errorf("there are %d commands, of which %d change the policy, and %d operations", commands, len(changes), operations)
	}
}

func fetched(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url) //nolint:noctx // a page of the test's own node
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", url, resp.StatusCode, err)
	}
	return body
}

// madeUp is how the ids begin that examples make up.
const madeUp = "0198f2a"

func holdCommand(t *testing.T, command, key string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(requestOf(t, command, key))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var answer struct {
		Code  string `json:"error_code"`
		Items []struct {
			Failure *struct {
				Code string `json:"error_code"`
			}
		}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	decoded := json.Unmarshal(body, &answer)
	codes := []string{answer.Code}
	for _, item := range answer.Items {
		if item.Failure != nil {
			codes = append(codes, item.Failure.Code)
		}
	}
	for _, code := range slices.Compact(codes) {
		absent := strings.Contains(command, madeUp) && slices.Contains([]string{string(fault.CodeNotFound), string(fault.CodeLeaseLost)}, code)
		if decoded != nil || code != "" && !absent || code == "" && answer.Code == "" && resp.StatusCode >= 300 || strings.Contains(string(body), "There is nothing at this address") {
			t.Errorf("%s\nis answered %d %s", command, resp.StatusCode, body)
		}
	}
}

// requestOf is the request that curl would make of a command.
func requestOf(t *testing.T, command, key string) *http.Request {
	t.Helper()
	words := shellWords(t, command, map[string]string{"RECOUP_KEY": key})
	if words[0] != "curl" {
		t.Fatalf("%s is not curl", words[0])
	}
	method, target, body := http.MethodGet, "", ""
	header := http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			method = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		case "--json":
			i++
			body = words[i]
			header.Set("Content-Type", "application/json")
			header.Set("Accept", "application/json")
			if method == http.MethodGet {
				method = http.MethodPost
			}
		default:
			if target != "" || strings.HasPrefix(words[i], "-") {
				t.Fatalf("curl does not take %s in %s", words[i], command)
			}
			target = words[i]
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	return r
}

// shellWords takes a command apart as a shell does, as far as examples need it: words,
// apostrophes, quotes with variables, and lines that go on.
func shellWords(t *testing.T, command string, variables map[string]string) (words []string) {
	t.Helper()
	var word strings.Builder
	begun := false
	for i := 0; i < len(command); i++ {
		switch c := command[i]; c {
		case ' ', '\n':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		case '\\':
			if i++; command[i] != '\n' {
				word.WriteByte(command[i])
				begun = true
			}
		case '\'', '"':
			inside, _, closed := strings.Cut(command[i+1:], string(c))
			if !closed || c == '"' && strings.ContainsAny(inside, "\\`") {
				t.Fatalf("%s: what is quoted cannot be read", command)
			}
			i += len(inside) + 1
			if c == '"' {
				for name, value := range variables {
					inside = strings.ReplaceAll(inside, "$"+name, value)
				}
			}
			word.WriteString(inside)
			begun = true
		default:
			if strings.ContainsRune("$&|;<>*?(){}!`#~", rune(c)) {
				t.Fatalf("%s: a shell does not take %q as it stands", command, c)
			}
			word.WriteByte(c)
			begun = true
		}
	}
	return append(words, word.String())
}
