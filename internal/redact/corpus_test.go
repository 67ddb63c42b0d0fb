package redact

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/lines.txt
var lineTemplates string

var blank = regexp.MustCompile(`\{([a-z]+)(\d*)\}`)

// logLines makes lines of a log from the templates, the same for the same seed.
func logLines(seed uint64, n int) []string {
	random := rand.New(rand.NewPCG(seed, 1))
	var templates []string
	for line := range strings.Lines(lineTemplates) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "#") {
			templates = append(templates, line)
		}
	}
	lines := make([]string, n)
	for i := range lines {
		lines[i] = blank.ReplaceAllStringFunc(templates[i%len(templates)], func(name string) string { return fill(random, name) })
	}
	return lines
}

// fill makes what stands for a word in braces.
func fill(random *rand.Rand, name string) string {
	pick := func(list string) string { words := strings.Fields(list); return words[random.IntN(len(words))] }
	letters := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	at := time.Unix(1_700_000_000+random.Int64N(60_000_000), random.Int64N(1e9)).UTC()
	n := 0
	m := blank.FindStringSubmatch(name)
	_, _ = fmt.Sscan(m[2], &n)
	switch m[1] {
	case "n":
		return letters("123456789", 1) + letters("0123456789", n-1)
	case "hex":
		return letters("0123456789abcdef", n)
	case "id":
		return letters("abcdefghijklmnopqrstuvwxyz0123456789", max(n, 12))
	case "uuid":
		return fmt.Sprintf("0190%s-%s-7%s-8%s-%s", letters("0123456789abcdef", 4), letters("0123456789abcdef", 4), letters("0123456789abcdef", 3), letters("0123456789abcdef", 3), letters("0123456789abcdef", 12))
	case "date":
		return at.Format(map[int]string{0: time.DateOnly, 6: "2006_01", 8: "20060102"}[n])
	case "clock":
		return at.Format(map[int]string{0: "15:04:05.000", 6: "150405"}[n])
	}
	made := map[string]func() string{
		"d": func() string { return letters("0123456789", 1) }, "ts": func() string { return at.Format(time.RFC3339Nano) }, "epoch": func() string { return fmt.Sprint(at.Unix()) },
		"clf": func() string { return at.Format("02/Jan/2006:15:04:05 -0700") }, "year": func() string { return at.Format("2006") }, "ms": func() string { return fmt.Sprintf("%d.%dms", random.IntN(9999), random.IntN(10)) },
		"status": func() string { return pick("200 201 204 301 304 400 401 403 404 409 422 429 500 502 503 504") }, "code": func() string {
			return pick("NETWORK_TIMEOUT RATE_LIMIT_EXCEEDED DOMAIN_NOT_FOUND VALIDATION_ERROR EXTERNAL_SERVICE_ERROR")
		},
		"service": func() string { return pick("import billing search outreach ledger gateway notifier scheduler") }, "name": func() string { return pick("ada grace linus ken barbara edsger donald margaret") },
		"table": func() string {
			return pick("outreach.dol_errors people.people_errors company.target_errors pipeline.dead_letters")
		}, "host": func() string {
			return pick("api.example.org db-1.eu-west-1.internal cache.internal node17.example.org")
		},
		"mac": func() string { return "00:1a:" + letters("0123456789abcdef", 2) + ":3c:4d:5e" }, "b": func() string { return letters(alnum+"+/", 43) }, "ulid": func() string { return letters("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24) },
	}[m[1]]
	if made == nil {
		return name // braces that are part of the line
	}
	return made()
}

// TestLogLinesStay bounds what is taken from texts that hold nothing secret: of
// 10,000 lines, at most one in two hundred may be touched.
func TestLogLinesStay(t *testing.T) {
	t.Parallel()
	const lines = 10_000
	touched, by := 0, Evidence{}
	for _, line := range logLines(1, lines) {
		clean, evidence := Default().String(line)
		if evidence == nil {
			continue
		}
		touched++
		by.Merge(evidence)
		if touched <= 20 {
			t.Logf("%q\nbecame %q", line, clean)
		}
	}
	t.Logf("%d of %d lines touched: %v", touched, lines, by)
	if touched*200 > lines {
		t.Errorf("%d of %d lines touched: %v", touched, lines, by)
	}
	if name := os.Getenv("RECOUP_CORPUS"); name != "" { // to look at
		if err := os.WriteFile(name, []byte(strings.Join(logLines(1, lines), "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
