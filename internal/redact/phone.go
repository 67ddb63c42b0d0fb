package redact

import "strings"

// phoneShapes lists how the numbers of telephones begin: with a plus sign, or in
// groups.
func phoneShapes() []string {
	return []string{
		"+0", "+(0", "%2B0", "00 00 00 00", "00.00.00.00", "00-00-00-00", "00 0000 0000", "00-0000-0000", "00-00000000", "00 00000000",
		"000 000", "000-000", "000.000.0", "000/000", "000) 000", "000)000", "000)-000", "00) 000", "00)000", "000\u00a0000", "0000 00 00", "000-0000-0000", "000 0000 0000",
	}
}

const (
	leastPhone, mostPhone = 8, 15 // digits of a number with its country
	mostGroups            = 8
)

// findPhones looks at what begins with a plus sign, a bracket or a digit.
func findPhones(s string, f finding) finding {
	f.work += len(s)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%' && i+2 < len(s) && s[i+1] == '2' && s[i+2]|0x20 == 'b':
			if end := internationalEnd(s, i, i+3); end > 0 {
				f.add(i, end)
				i = end - 1
			}
		case s[i] == '+':
			if end := internationalEnd(s, i, i+1); end > 0 {
				f.add(i, end)
				i = end - 1
			}
		case s[i] == '(' || digit(s[i]):
			end := nationalEnd(s, i)
			if end > 0 {
				f.add(i, end)
				i = end - 1
				continue
			}
			i = max(i, groupEnd(s, i)-1)
		}
	}
	return f
}

// dialled is a number as it is written: the lengths of its groups, and where each
// ends.
type dialled struct {
	groups  []string
	ends    []int
	gaps    []string
	bracket bool // the first group stands in brackets
}

// dial reads groups of digits with one sign or two between them.
func dial(s string, i int, d dialled) dialled {
	if i < len(s) && s[i] == '(' {
		d.bracket = true
		i++
	}
	digits := 0
	for len(d.groups) < mostGroups {
		end := groupEnd(s[:min(len(s), i+mostPhone+1)], i)
		if digits += end - i; end == i || digits > mostPhone {
			break
		}
		d.groups, d.ends = append(d.groups, s[i:end]), append(d.ends, end)
		gap := phoneGap(s[end:])
		if gap == "" {
			break
		}
		d.gaps = append(d.gaps, gap)
		i = end + len(gap)
	}
	return d
}

// phoneGap returns what stands between two groups, or "".
func phoneGap(s string) string {
	for _, gap := range [...]string{" (0) ", "(0)", ") ", ")-", ")", " (", " ", "-", ".", "/", "\u00a0", "%20", "–"} {
		if strings.HasPrefix(s, gap) && len(s) > len(gap) && digit(s[len(gap)]) {
			return gap
		}
	}
	return ""
}

// over reports whether a number may end at i: it is no part of a longer one.
func over(s string, i int) bool {
	return ends(s, i) && (i+1 >= len(s) || strings.IndexByte("-.:/", s[i]) < 0 || !digit(s[i+1]))
}

// internationalEnd returns where the number ends that begins with a plus sign at i
// and its first digit at from, or 0.
func internationalEnd(s string, i, from int) int {
	if i > 0 && (alphanumeric(s[i-1]) && !begins(s, i) || s[i-1] == '+') || from >= len(s) || s[from] == '0' {
		return 0
	}
	var room dialledRoom
	d := dial(s, from, room.empty())
	if len(d.groups) == 0 || d.groups[0][0] == '0' {
		return 0
	}
	for n := len(d.groups); n > 0; n-- {
		digits := 0
		for _, g := range d.groups[:n] {
			digits += len(g)
		}
		if digits >= leastPhone && (n > 1 || digits > leastPhone) && over(s, d.ends[n-1]) {
			return d.ends[n-1]
		}
	}
	return 0
}

// dialledRoom keeps what is read of a number off the heap.
type dialledRoom struct {
	groups, gaps [mostGroups]string
	ends         [mostGroups]int
}

func (r *dialledRoom) empty() dialled {
	return dialled{groups: r.groups[:0], ends: r.ends[:0], gaps: r.gaps[:0]}
}

// nationalEnd returns where the number ends that begins at i without its country,
// or 0.
func nationalEnd(s string, i int) int {
	if i > 0 && (!begins(s, i) || s[i-1] == '+' || s[i-1] == '$' || s[i-1] == '#') {
		return 0
	}
	if i > 1 && (strings.IndexByte("-._", s[i-1]) >= 0 && alphanumeric(s[i-2]) || strings.IndexByte(" /:,", s[i-1]) >= 0 && digit(s[i-2])) {
		return 0
	}
	var room dialledRoom
	d := dial(s, i, room.empty())
	n := len(d.groups)
	if n < 2 || !over(s, d.ends[n-1]) || s[d.ends[n-1]-1] == ' ' {
		return 0
	}
	if !registered(s[:i]) && (d.northAmerican() || d.trunk() && !dumped(s, i, d.ends[n-1]) || d.brazilian()) {
		return d.ends[n-1]
	}
	return 0
}

// registered reports whether a text ends with the name of a register of companies
// or books, whose numbers are in groups too.
func registered(before string) bool {
	before = strings.TrimRight(before, " :=#")
	for _, register := range [...]string{"DUNS", "D-U-N-S", "EIN", "ISBN", "ISSN", "CIK"} {
		if from := len(before) - len(register); from >= 0 && strings.EqualFold(before[from:], register) && begins(before, from) {
			return true
		}
	}
	return false
}

// dumped reports whether a byte in base 16 stands next to a number, which makes
// it a row of bytes: 4b 03 04 14 00 06.
func dumped(s string, from, to int) bool {
	pair := func(s string) bool { return hexDigit(s[0]) >= 0 && hexDigit(s[1]) >= 0 && (digit(s[0]) || digit(s[1])) }
	return from > 2 && s[from-1] == ' ' && pair(s[from-3:]) && (from == 3 || !alphanumeric(s[from-4])) ||
		to+2 < len(s) && s[to] == ' ' && pair(s[to+1:]) && ends(s, to+3)
}

// northAmerican is three, three and four digits, of which neither the area nor the
// exchange begins with 0 or 1.
func (d *dialled) northAmerican() bool {
	g := d.groups
	if len(g) == 4 && g[0] == "1" && !d.bracket {
		g = g[1:]
	}
	return len(g) == 3 && len(g[0]) == 3 && len(g[1]) == 3 && len(g[2]) == 4 && g[0][0] > '1' && g[1][0] > '1' &&
		(len(d.groups) == 4 || d.bracket == strings.HasPrefix(d.gaps[0], ")"))
}

// trunk is a number whose first digit is the 0 of calls within a country, or the
// 00 of those to another.
func (d *dialled) trunk() bool {
	digits, regular := d.regular()
	if !regular {
		return false
	}
	first := d.groups[0]
	abroad := len(first) > 3 && first[:2] == "00" && first[2] != '0'
	if first[0] != '0' || first[1] == '0' && !abroad || len(first) > 5 {
		return false
	}
	if d.gaps[0] == "/" && len(d.groups) > 3 || d.gaps[0] == "." && len(d.groups) < 3 {
		return false
	}
	return digits > 8 && digits < 13 || abroad && digits < 16
}

// regular reports whether groups are set apart alike, as people write numbers, and
// are neither a date nor a row of bytes. It counts the digits.
func (d *dialled) regular() (digits int, ok bool) {
	same, pairs, g := true, true, d.groups
	for i := range g {
		digits += len(g[i])
		same = same && (i < 2 || d.gaps[i-1] == d.gaps[1] || d.gaps[i-1] == "-") && len(g[i]) > 1
		pairs = pairs && len(g[i]) == 2
	}
	date := len(g) > 2 && len(g[0]) == 2 && len(g[1]) == 2 && len(g[2]) == 4
	bytes := pairs && len(g) != 5 // five are a number in France
	return digits, same && !date && !bytes
}

// brazilian is an area of two digits in brackets, with eight or nine behind.
func (d *dialled) brazilian() bool {
	g := d.groups
	return d.bracket && len(g) == 3 && len(g[0]) == 2 && (len(g[1]) == 4 || len(g[1]) == 5) && len(g[2]) == 4 && strings.HasPrefix(d.gaps[0], ")")
}
