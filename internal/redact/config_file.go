package redact

import (
	"regexp"
	"strings"
)

// configRules finds passwords that their place in a line of a configuration file tells, and secrets
// that only the words of one program tell.
func configRules() []rule {
	return []rule{
		{
			name: "password", of: "positional", refuses: assigned, gate: []string{`eap "`, `psk "`, `xauth "`, "--plaintext ", ".logon ", `"p:`, "createuser ", "]:00 ", "]:000 ", "]:0000 "},
			expr: `(?i)(?:\b(?:EAP|PSK|XAUTH) \\*"([^"\\\n]{4,128})|\brootpw --plaintext (\S{4,128})|\.logon [\w.-]{1,64}/[\w.-]{1,64},([^\s;"']{4,128})|"P:([^"\\\n]{4,128})\\*" \\*"M:|` +
				`\bcreateUser \S{1,64} (?:MD5|SHA)\S{0,8} \\*"?([^"\s\\]{4,128})|"? (?:AES|DES)\S{0,8} \\*"([^"\s\\]{4,128})|\]:\d{2,5} [\w.+@-]{1,64}:([^\s"']{4,128}))`, check: notMaskedAt,
		},
		{
			name: "secret", of: "misspelt", refuses: assigned, gate: []string{"unknown variable ", "unknown option ", "unknown parameter ", "unrecognized option ", "unrecognized parameter ", "unknown keyword ", "unknown key ", "unknown setting "},
			expr: `(?i)\b(?:unknown|unrecognized) (?:variable|option|parameter|keyword|key|setting) \\*['"]?-{0,2}[\w.-]{0,24}(?:pas|pwd|sec|tok|key|cred)[\w.-]{0,16}=([^'"\s\\]{4,128})`, check: notMaskedAt,
		},
		{name: "password", of: "chpasswd", refuses: assigned, gate: []string{"chpasswd:"}, multiline: true, find: findChpasswd},
		{
			name: "secret", of: "meta", refuses: never, gate: []string{"csrf-token", "csrf_token", "xsrf-token", "github-oauth", "gitlab-token", "gitlab-oauth"},
			expr: `(?i)(?:\bname=\\*["'](?:csrf|xsrf)[-_]token\\*["']\s{1,8}content=\\*["']([^"'\\\s]{16,256})|"(?:github|gitlab)-(?:oauth|token)\\*"\s{0,8}:\s{0,8}\{\s{0,8}\\*"[\w.-]{1,64}\\*"\s{0,8}:\s{0,8}\\*"([^"\\\s]{16,256}))`,
		},
		{name: "password", of: "wifi", refuses: assigned, gate: []string{"wifi:"}, expr: `\bWIFI:(?:[A-OQ-Z]:(?:\\.|[^;\\\n]){0,64};){0,4}P:((?:\\.|[^;\\\n]){4,128})`},
		{name: "secret", of: "BitLocker", gate: []string{"000000-000000-000000-000000"}, expr: `(?:\d{6}-){7}\d{6}`, check: wordAt},
		{name: "hash", of: "NTLM", gate: []string{"ntlm"}, expr: `(?i)\bNTLM(?:v[12])?(?: hash)?(?: (?:of|for) \S{1,64}?)?\s{0,8}[:=]\s{0,8}([0-9a-f]{32})\b`},
		{name: "hash", of: "sam", gate: []string{":::"}, expr: `\b([0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::`},
		{name: "salesforce", gate: []string{"00d", "00d0"}, expr: `\b00D[A-Za-z0-9]{12}(?:[A-Za-z0-9]{3})?![\w.]{60,}`},
		{name: "wallet", of: "nostr", gate: []string{"nsec0"}, expr: `\bnsec1[02-9ac-hj-np-z]{58}\b`},
		{name: "told", of: "hex keys", gate: []string{"private key", "private_key", "private-key", "privatekey", "wallet(", "accounts: [", `accounts":`, "accounts:["}, multiline: true, find: findHexKeys},
		{name: "told", of: "job", gate: []string{"args=(", "args=[", "arguments: ", `"args":`, `args\":`}, find: findJobArguments},
	}
}

// chpasswdLine matches a user and a password, as cloud-init has them in a list.
var chpasswdLine = regexp.MustCompile(`^[ \t]+(?:- )?["']?[\w.-]{1,64}:([^\s"']{4,128})["']?[ \t\r]*$`)

// findChpasswd takes the passwords of a list of users.
func findChpasswd(s string, f finding) finding {
	const lines = 32
	f.work += len(s)
	for at := 0; at < len(s); {
		begin := strings.Index(s[at:], "chpasswd:")
		if begin < 0 {
			break
		}
		at += begin + len("chpasswd:")
		end := lineEnd(s, at-1)
		for range lines {
			if end == len(s) {
				break
			}
			from, to := end+1, lineEnd(s, end)
			line := s[from:to]
			if indentation(line) == 0 {
				break
			}
			f.work += len(line)
			if m := chpasswdLine.FindStringSubmatchIndex(line[:min(len(line), maxJudged)]); len(m) > 0 && line[m[2]:m[3]] != "RANDOM" && !masked(line[m[2]:m[3]]) {
				f.add(from+m[2], from+m[3])
			}
			at, end = from, to
		}
	}
	return f
}

var (
	// keyHead matches the words before private keys in base 16, and hexKey such a key.
	keyHead = regexp.MustCompile(`(?i)private[ _-]?keys?|\baccounts\\*["']?\s?:\s?\[|\bwallet\(`)
	hexKey  = regexp.MustCompile(`\b(?:0x)?[0-9a-fA-F]{64}\b`)
)

// findHexKeys takes numbers of 32 bytes not far behind the words for a private key.
func findHexKeys(s string, f finding) finding {
	const near = 1 << 10
	f.work += 2 * len(s)
	heads, last := keyHead.FindAllStringIndex(s, -1), -near-1
	for _, key := range hexKey.FindAllStringIndex(s, -1) {
		for len(heads) > 0 && heads[0][1] <= key[0] {
			last, heads = heads[0][1], heads[1:]
		}
		if key[0]-last <= near {
			f.add(key[0], key[1])
		}
	}
	return f
}

// jobName matches what signs somebody in or changes a password, up to its arguments.
var jobName = regexp.MustCompile(`(?i)(?:log_?in|sign_?in|password|passwd|authenticat|credential|token|secret)[^\n]{0,160}?(?:\bargs=[(\[]|\barguments: |"args\\*":\s?\[)`)

// findJobArguments takes the arguments of a job that look like a secret, where the name of the job is
// about one.
func findJobArguments(s string, f finding) finding {
	const longest = 512
	f.work += len(s)
	for at := 0; at < len(s); {
		m := jobName.FindStringIndex(s[at:])
		if m == nil {
			break
		}
		begin := at + m[1]
		limit := min(len(s), begin+longest)
		end := limit
		if opensList(s[begin-1]) {
			end = listEnd(s[:limit], begin-1)
		}
		f.work += end - begin
		for _, item := range split(s, begin, end) {
			if v := unquoted(s, item); !v.bare && v.from < v.to && rowSecret(s[v.from:v.to]) {
				f.add(v.from, v.to)
			}
		}
		at = max(begin, end)
	}
	return f
}
