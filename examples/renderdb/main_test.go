package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// running starts the program with arguments and returns its address. It is
// stopped when the test ends, and must then end without an error.
func running(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append(args, "-listen", "127.0.0.1:0"), write, io.Discard)
		ended <- err
		_ = write.CloseWithError(err)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	first, err := bufio.NewReader(read).ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, read) }() // the keys
	address, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on ")
	if !ok {
		t.Fatalf("it says %q: %v", first, err)
	}
	return address
}

// TestREADME runs the lines of README.md and compares what they answer with the
// comments beside them.
func TestREADME(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	address := running(t)
	values, ran := map[string]string{"API": address, "DAY": today(t, address)}, 0
	for line := range strings.Lines(string(page)) {
		if name, value, ok := assignment(line); ok && values[name] == "" {
			values[name] = value
		}
		command, comment, found := strings.Cut(strings.TrimSpace(line), " # ")
		if !strings.HasPrefix(command, "curl ") {
			continue
		}
		if !found {
			t.Errorf("%s does not say what it answers", command)
		}
		if got := curl(t, words(command, values)); got != comment {
			t.Errorf("%s answers %q", line, got)
		}
		ran++
	}
	if ran < 20 {
		t.Errorf("found %d commands: has the page changed its form?", ran)
	}
}

// today is the server's day, as its uids write it.
func today(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	return date.Format("20060102")
}

func assignment(line string) (name, value string, ok bool) {
	match := regexp.MustCompile(`^([A-Z]+)='?([^'\n]*)'?$`).FindStringSubmatch(strings.TrimSpace(line))
	if match == nil {
		return "", "", false
	}
	return match[1], match[2], true
}

// words splits a command as a shell does: single quotes keep everything, double
// quotes let variables in.
func words(command string, values map[string]string) []string {
	var list []string
	for _, word := range regexp.MustCompile(`'[^']*'|"(?:\\.|[^"\\])*"|\S+`).FindAllString(command, -1) {
		switch inner := word[1 : len(word)-1]; word[0] {
		case '\'':
			list = append(list, inner)
		case '"':
			inner = strings.ReplaceAll(inner, `\"`, `"`)
			list = append(list, os.Expand(inner, func(name string) string { return values[name] }))
		default:
			list = append(list, word)
		}
	}
	return list
}

// curl does what curl would with these words, and returns the status and the
// code of the answer.
func curl(t *testing.T, words []string) string {
	t.Helper()
	var method, address, body string
	header := http.Header{}
	for rest := words[1:]; len(rest) > 0; rest = rest[1:] {
		if rest[0] == "-s" {
			continue
		}
		if !strings.HasPrefix(rest[0], "-") {
			address = rest[0]
			continue
		}
		option := rest[0]
		rest = rest[1:]
		switch option {
		case "-X":
			method = rest[0]
		case "-H":
			name, value, _ := strings.Cut(rest[0], ": ")
			header.Set(name, value)
		case "-d":
			method, body = cmp.Or(method, http.MethodPost), rest[0]
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		case "--json":
			method, body = cmp.Or(method, http.MethodPost), rest[0]
			header.Set("Content-Type", "application/json")
		default:
			t.Fatalf("the option %s is not known here", option)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Code string `json:"error_code"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil && response.StatusCode != http.StatusNoContent {
		t.Fatal(err)
	}
	return strings.TrimSpace(response.Status[:3] + " " + answer.Code)
}

// Failures can be there from the start; documentation_url leads to this server.
func TestFailFlag(t *testing.T) {
	t.Parallel()
	address := running(t, "-fail", "maintenance,database")
	response, err := http.Get(address + "/companies/CO-20240828-999999")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	failure := fault.Decode(response)
	if failure == nil || failure.Code != fault.CodeTemporaryUnavailable {
		t.Fatalf("it answers %v", failure)
	}
	if got := curl(t, []string{"curl", failure.DocumentationURL}); got != "200" {
		t.Errorf("the page %s answers %s", failure.DocumentationURL, got)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-fail", "printer"}, {"-listen", "nowhere:x"}, {"-no"}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := run(ctx, args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
		cancel()
	}
}
