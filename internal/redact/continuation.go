package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// continuationRule finds the answers of a client that authenticates in several lines: the command
// AUTH PLAIN, a challenge of the server, and the answer in base 64.
func continuationRule() rule {
	return rule{name: "protocol", of: "continuation", gate: []string{"auth plain", "auth login", "auth xoauth0", "auth ntlm", "auth cram-md0", "authenticate plain", "authenticate login"}, multiline: true, find: findAnswers}
}

var (
	authCommand = regexp.MustCompile(`(?i)\bAUTH(?:ENTICATE)? (?:PLAIN|LOGIN|XOAUTH2|NTLM|CRAM-MD5)(?:["']?|[ \t]+(?:[A-Za-z0-9+/]{4,128}={0,2}|\[redacted:\w+\]))[ \t]*\r?\n`)
	challenge   = regexp.MustCompile(`(?:^|[\s:<>"'])(?:334|\+)(?:[ \t]+[A-Za-z0-9+/=]*)?["']?$`)
	base64Word  = regexp.MustCompile(`[A-Za-z0-9+/]{4,}={0,2}`)
)

func findAnswers(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := authCommand.FindStringIndex(s[at:])
		if m == nil {
			break
		}
		at += m[1]
		f, at = findAnswersFrom(s, at, f)
	}
	return f
}

// findAnswersFrom reads challenges and answers in turn, and returns where it stopped.
func findAnswersFrom(s string, at int, f finding) (finding, int) {
	const lines, longest = 6, 4 << 10
	asked := false
	for range lines {
		end := len(s)
		if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
			end = at + n
		}
		line := strings.TrimRight(s[at:end], " \t\r")
		f.work += len(line)
		if len(line) > longest {
			break
		}
		if challenge.MatchString(line) {
			asked = true
		} else {
			v := answerIn(line)
			if !asked || v.from == v.to {
				break
			}
			f.add(at+v.from, at+v.to)
			asked = false
		}
		if at = end + 1; at >= len(s) {
			return f, len(s)
		}
	}
	return f, at
}

// answerIn returns where the answer lies in a line of the client: the first word that is a text in
// base 64. A short one must end the line and have one word before it at most.
func answerIn(line string) extent {
	const short, most = 8, 16
	for _, m := range base64Word.FindAllStringIndex(line, most) {
		ended := m[1] == len(line) && strings.Count(line[:m[0]], " ") < 2
		if (m[1]-m[0] >= short || ended) && base64Text(line[m[0]:m[1]]) {
			return extent{from: m[0], to: m[1]}
		}
	}
	return extent{}
}

// base64Text reports whether a word is a text in base 64. The words of a sentence are not. A path
// may follow a user and a password.
func base64Text(v string) bool {
	plain := strings.TrimRight(v, "=")
	if decoded, err := base64.RawStdEncoding.DecodeString(plain[:len(plain)/4*4]); err == nil && strings.Count(string(decoded), "\x00") == 2 {
		return true
	}
	decoded, err := base64.StdEncoding.DecodeString(v)
	for _, b := range decoded {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return err == nil
}
