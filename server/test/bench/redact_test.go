package bench

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact"
)

// BenchmarkRedact cleans log lines of 200 bytes and a stack trace of 64 KiB, beside
// a naive redactor that replaces with one expression of the same rules after the
// other. Target: a clean line in at most 2 µs without an allocation.
func BenchmarkRedact(b *testing.B) {
	clean := line("retry 3/5 of 0190a6f2-1b2c-7def-8abc-0123456789ab in 32s after NETWORK_TIMEOUT, ts=1724840130123")
	texts := []struct {
		name, text string
		dirty      bool
	}{
		{"clean line", clean, false},
		{"clean line with a hot word", line("unexpected token: end of input in 0190a6f2-1b2c-7def-8abc-0123456789ab"), false},
		{"dirty line", line("retry for ada@example.org from 203.0.113.9, password=" + "hunter2, card " + strings.Repeat("4242", 4)), true},
		{"clean 64 KiB stack", stack("main.(*worker).fetch(0xc0000b2000)"), false},
		{"dirty 64 KiB stack", stack("main.(*worker).login(password=" + "hunter2)"), true},
	}
	naive := newNaive()
	for _, t := range texts {
		for _, with := range []struct {
			name string
			run  func(string) string
		}{
			{"recoup", func(s string) string { out, _ := redact.Default().String(s); return out }},
			{"naive", naive.redact},
		} {
			b.Run(fmt.Sprintf("%s/%s", t.name, with.name), func(b *testing.B) {
				// Without checks, the naive one also finds what is none.
				if changed := with.run(t.text) != t.text; changed != t.dirty && with.name == "recoup" {
					b.Fatalf("changed %v, want %v", changed, t.dirty)
				}
				b.ReportAllocs()
				b.SetBytes(int64(len(t.text)))
				for b.Loop() {
					with.run(t.text)
				}
			})
		}
	}
}

// line makes a log line of 200 bytes.
func line(message string) string {
	s := "2024-08-28T10:15:30.123456Z INFO worker-10-0-0-1 outreach.dol_errors: " + message
	return s + strings.Repeat(" attempt=3 status=504", 10)[:200-len(s)]
}

// stack makes a stack trace of 64 KiB with one special frame in its middle.
func stack(frame string) string {
	const frames = "net/http.(*conn).serve(0xc0000b2000, {0x7f2e48, 0xc00009e0f0})\n\t/usr/local/go/src/net/http/server.go:2009 +0x5f4\n"
	half := strings.Repeat(frames, 32<<10/len(frames))
	return "goroutine 17 [running]:\n" + half + frame + "\n\t/srv/app/main.go:23 +0x1d\n" + half
}

// naive replaces with every expression in a row, and with one for all the rules
// that are no expressions.
type naive []naiveRule

type naiveRule struct {
	re          *regexp.Regexp
	replacement string
}

func newNaive() naive {
	n := naive{{regexp.MustCompile(`(?i)(?:password|secret|token|api_key|cookie|authorization)["']?\s*[:=]\s*\S+`), redact.Replacement("secret")}}
	for _, rule := range redact.Default().Rules() {
		if rule.Expression != "" {
			n = append(n, naiveRule{regexp.MustCompile(rule.Expression), redact.Replacement(rule.Name)})
		}
	}
	return n
}

func (n naive) redact(s string) string {
	for _, rule := range n {
		s = rule.re.ReplaceAllString(s, rule.replacement)
	}
	return s
}
