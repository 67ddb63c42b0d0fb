package redact

import (
	"regexp"
	"strings"
)

// settingRule finds the values of settings that have a blank in them. They end at a semicolon in a
// connection string, and at the end of the line in a configuration file:
//
//	Server=db;User Id=ada;Password=correct horse;Encrypt=true
//
// It also finds the settings of a section that has a password under each name, as CouchDB's [admins]
// does.
func settingRule() rule {
	return rule{
		name: "password", of: "setting", multiline: true, find: findSettings, refuses: assigned,
		gate: []string{"password=", "password =", "passwd=", "passwd =", "pwd=", "pwd =", "passphrase=", "passphrase =", "passwort=", "passwort =", "kennwort=", "kennwort =", "secret =", "secretkey=", "accountkey=", "[admins]", "[passwords]", "[credentials]"},
	}
}

var (
	// setting matches the name of a secret setting at the beginning of a line, of a quotation or
	// behind a semicolon. Its groups are what stands before and behind the name.
	setting = regexp.MustCompile(`(?i)(^|[\n;"'])[ \t]*(?:(?:user|proxy|db|database|login|account|admin|client) )?[\w.-]{0,40}(?:password|passwd|pwd|passphrase|passwort|kennwort|secret|secretkey|accountkey)[ \t]*=([ \t]*)`)

	// otherSetting matches a line of a configuration file.
	otherSetting = regexp.MustCompile(`^[ \t]*(?:\[[\w. :/"-]{1,64}\]|[\w.-]{1,64}[ \t]*=[^=\n]*)[ \t\r]*$`)

	// passwordSection matches the head of a section of passwords, and sectionSetting one of its
	// settings.
	passwordSection = regexp.MustCompile(`(?i)\[(?:admins|passwords|credentials)\]`)
	sectionSetting  = regexp.MustCompile(`^\s*[\w.@-]{1,64}[ \t]*=[ \t]*([^\s;]+)[ \t\r]*`)
)

// maxSetting is how long the value of a setting is at most.
const maxSetting = 128

func findSettings(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := setting.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		begin, from, spaced := at+m[2], at+m[1], m[5] > m[4]
		before := s[at+m[2] : at+m[3]]
		at = from
		if before == "" && begin > 0 {
			continue // the middle of a line
		}
		to := from + settingLength(s[from:])
		f.work += to - from
		v := s[from:to]
		if strings.IndexByte(v, ' ') < 0 || strings.ContainsAny(v, "(){}<>$[]") || masked(v) {
			continue
		}
		if before == ";" || to < len(s) && s[to] == ';' && strings.IndexByte(v, '=') < 0 || configured(s, begin, to, spaced) {
			f.add(from, to)
			at = to
		}
	}
	return findSections(s, f)
}

// settingLength returns the length of the value that s begins with. It has no quotes.
func settingLength(s string) int {
	s = s[:min(len(s), maxSetting)]
	end := strings.IndexAny(s, ";\"'\n\\`|")
	if end < 0 {
		end = len(s)
	}
	if comment := strings.Index(s[:end], " #"); comment >= 0 {
		end = comment
	}
	return len(strings.TrimRight(s[:end], " \t\r"))
}

// configured reports whether a setting that begins at from and whose value ends at to is a line of a
// configuration file: the line before it or behind it is one too.
func configured(s string, from, to int, spaced bool) bool {
	if !spaced || strings.IndexByte(s[from:to], '=') != strings.LastIndexByte(s[from:to], '=') {
		return false
	}
	end := lineEndFrom(s, to)
	if rest := strings.TrimSpace(s[to:end]); rest != "" && rest[0] != '#' {
		return false
	}
	if end < len(s) && otherSetting.MatchString(s[end+1:lineEndFrom(s, end+1)]) {
		return true
	}
	return s[from] == '\n' && otherSetting.MatchString(s[lineBegin(s, from):from])
}

// lineEndFrom returns where the line ends that has the byte at i, but not more than maxSetting behind
// it.
func lineEndFrom(s string, i int) int {
	limit := min(len(s), i+maxSetting)
	if n := strings.IndexByte(s[i:limit], '\n'); n >= 0 {
		return i + n
	}
	return limit
}

// lineBegin returns where the line begins that ends at i, but not more than maxSetting before it.
func lineBegin(s string, i int) int {
	least := max(0, i-maxSetting)
	return least + strings.LastIndexByte(s[least:i], '\n') + 1
}

// findSections takes the settings of sections that have a password under each name.
func findSections(s string, f finding) finding {
	for at := 0; at < len(s); {
		head := passwordSection.FindStringIndex(s[at:])
		if head == nil {
			break
		}
		at += head[1]
		for m := sectionSetting.FindStringSubmatchIndex(s[at:min(len(s), at+2*maxSetting)]); m != nil; m = sectionSetting.FindStringSubmatchIndex(s[at:min(len(s), at+2*maxSetting)]) {
			if from, to := at+m[2], at+m[3]; chosenAt(s, from, to) || scrambled(s[from:to]) {
				f.add(from, to)
			}
			f.work += m[1]
			at += m[1]
		}
	}
	return f
}
