package redact

import (
	"net/netip"
	"strings"
)

// ipv4Shapes lists four numbers of which the middle ones have one to three digits.
func ipv4Shapes() []string {
	var shapes []string
	for _, second := range []string{"0", "00", "000"} {
		for _, third := range []string{"0", "00", "000"} {
			shapes = append(shapes, "0."+second+"."+third+".0")
		}
	}
	return shapes
}

func findIPv4(s string, f finding) finding { return findWords(s, '.', inIPv4, ipv4Within, f) }

func findIPv6(s string, f finding) finding { return findWords(s, ':', inIPv6, ipv6Within, f) }

func inIPv4(b byte) bool { return digit(b) || b == '.' }

func inIPv6(b byte) bool { return inIPv4(b) || 'a' <= b|0x20 && b|0x20 <= 'f' || b == ':' }

// findWords adds what within finds in the words around a separator: the longest
// runs of bytes that may be in an address.
func findWords(s string, separator byte, in func(byte) bool, within func(s string, from, to int) (int, int, bool), f finding) finding {
	for done := 0; done < len(s); {
		at := strings.IndexByte(s[done:], separator)
		if at < 0 {
			break
		}
		from, to := done+at, done+at
		for from > done && in(s[from-1]) {
			from--
		}
		for to < len(s) && in(s[to]) {
			to++
		}
		f.work += to - done
		done = to
		if from, to, ok := within(s, from, to); ok {
			f.add(from, to)
		}
	}
	return f
}

// ipv4Within finds the address in a word of digits and dots. It passes over
// versions (v1.2.3.4) and longer dotted numbers.
func ipv4Within(s string, from, to int) (int, int, bool) {
	if from > 0 && s[from-1] == '%' {
		from = min(from+2, to) // %20 is a space, not the number 20
	}
	for from < to && s[from] == '.' {
		from++
	}
	for from < to && s[to-1] == '.' {
		to--
	}
	version := from > 0 && s[from-1]|0x20 == 'v' || browser(s[:from]) || versioned(s, from, to)
	return from, to, !version && ends(s, to) && somebodys(s[from:to])
}

// versioned reports whether a text says that four numbers are a version.
func versioned(s string, from, to int) bool {
	const word, longest = "version", 12
	before := strings.TrimRight(s[max(0, from-longest):from], ` "'\:=`)
	if len(before) >= len(word) && strings.EqualFold(before[len(before)-len(word):], word) {
		return true
	}
	return strings.HasPrefix(s[to:], " is a version") || strings.HasPrefix(s[to:], " is the version")
}

// browser reports whether a text ends with the name of a browser, whose versions
// have four numbers.
func browser(before string) bool {
	for _, name := range [...]string{"Chrome/", "Chromium/", "Edg/", "OPR/"} {
		if strings.HasSuffix(before, name) {
			return true
		}
	}
	return false
}

// somebodys reports whether a text is an address other than this machine's, which
// identifies nobody.
func somebodys(s string) bool {
	const shortest, longest = len("::1"), len("0000:0000:0000:0000:0000:0000:255.255.255.255")
	if len(s) < shortest || len(s) > longest {
		return false
	}
	a, err := netip.ParseAddr(s)
	return err == nil && !a.IsLoopback() && !a.IsUnspecified()
}

// ipv6Within finds the address in a word. A name before it (face:2001:…) or a port
// after it goes with it, because it may as well be the other way round.
func ipv6Within(s string, from, to int) (int, int, bool) {
	from, to = trimIPv6(s, from, to)
	word := s[from:to]
	if !strings.Contains(word, "::") && strings.Count(word, ":") < 6 { // a time, a MAC address
		return 0, 0, false
	}
	second, last := from+strings.IndexByte(word, ':')+1, from+strings.LastIndexByte(word, ':')
	for _, part := range [][2]int{{from, to}, {second, to}, {from, last}} {
		if ipv6(s, part[0], part[1]) {
			return from, zoneEnd(s, to), true
		}
	}
	return 0, 0, false
}

// trimIPv6 takes off a colon or full stop that belongs to the text around.
func trimIPv6(s string, from, to int) (int, int) {
	for from < to && (s[from] == '.' || s[from] == ':' && s[from+1:to] != "" && s[from+1] != ':') {
		from++
	}
	for from < to && (s[to-1] == '.' || s[to-1] == ':' && s[from:to-1] != "" && s[to-2] != ':') {
		to--
	}
	return from, to
}

// ipv6 accepts an address that can be somebody's. The paths of type names
// (std::vec, abc::def) and slices ([1::2]) are no addresses, nor is this machine.
func ipv6(s string, from, to int) bool {
	if from >= to || !begins(s, from) || !ends(s, to) {
		return false
	}
	word := s[from:to]
	if strings.Contains(word, "::") && (len(word) < 6 || !strings.ContainsAny(word, "0123456789")) {
		return false
	}
	return !byteGroups(word) && somebodys(word)
}

// byteGroups reports whether every group has two digits: a serial number or a world wide name, as
// bytes are written.
func byteGroups(word string) bool {
	for group := range strings.SplitSeq(word, ":") {
		if len(group) != 2 {
			return false
		}
	}
	return true
}

// zoneEnd takes in the zone of a link-local address: fe80::1%eth0.
func zoneEnd(s string, at int) int {
	if at == len(s) || s[at] != '%' {
		return at
	}
	end := at + 1
	for end < len(s) && alphanumeric(s[end]) {
		end++
	}
	return end
}
