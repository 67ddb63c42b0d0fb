package redact

import "strings"

// personalRules finds what belongs to a person.
func personalRules() []rule {
	const (
		month = `(?:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]{0,6}\.?`
		date  = `(?:\d{1,2}[-/. ]\d{1,2}[-/. ]\d{2,4}|(?:19|20)\d\d[-/. ]?\d{1,2}[-/. ]?\d{1,2}|\d{1,2}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?` + month + `\s+\d{4}|` + month + `\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4})`
	)
	return []rule{
		{name: "ssn", of: "spaced", gate: []string{"000 00 0000", "000\u00a000\u00a00000"}, expr: `\d{3}[ \x{a0}]\d{2}[ \x{a0}]\d{4}`, check: spacedSocialSecurity},
		{name: "phone", gate: phoneShapes(), find: findPhones},
		{
			name: "passport", gate: []string{"passport", "reisepass", "passeport", "pasaporte", "passaporte"},
			expr: `(?i)(?:passport|reisepass|passeport|pasaporte|passaporte)(?:[ _-]?(?:no|nr|num|number|nummer|id|número|numéro)\b\.?)?["']?(?:\s+(?:is|ist|est|es|was))?[\s:=#"']{1,4}([A-Za-z]{0,3}\d{6,9}|[A-Z0-9]{8,9})`, check: passportNumber,
		},
		{
			name: "birth", gate: []string{"birth", "born", "dob", "d.o.b", "geboren", "geburtsdatum", "naissance", "né le", "née le", "nacimiento", "nacido", "nacida", "nascimento", "nascita", "nato il", "nata il"},
			expr: `(?i)(?:date[ _-]?of[ _-]?birth|birth[ _-]?da(?:te|y)|\bdob|\bd\.o\.b\.?|\bborn(?:\s+on)?|geboren(?:\s+am)?|geburtsdatum|date de naissance|\bnée?\s+le|fecha de nacimiento|nacid[oa]\s+el|data de nascimento|data di nascita|nat[oa]\s+il)["']?(?:\s+(?:is|was|ist|est|es))?[\s:=("']{1,4}(` + date + `)`,
		},
	}
}

// passportNumber tells a number from a word in capitals.
func passportNumber(s string, from, to int) bool {
	_, _, digits := mixture(s[from:to])
	return digits > 3 && ends(s, to)
}

// spacedSocialSecurity holds a number in three groups to the rules of one with
// dashes. One more number on either side makes it a row of numbers.
func spacedSocialSecurity(s string, from, to int) bool {
	dashed := strings.NewReplacer(" ", "-", "\u00a0", "-").Replace(s[from:to])
	return socialSecurity(dashed, 0, len(dashed)) && begins(s, from) && ends(s, to) &&
		(from < 2 || s[from-1] != ' ' || !digit(s[from-2])) && (to+1 >= len(s) || s[to] != ' ' || !digit(s[to+1]))
}

// ibanLengths says how long the number of an account is in each country.
func ibanLengths() map[string]int {
	return map[string]int{
		"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28, "CH": 21, "CR": 22,
		"CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22,
		"GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30,
		"KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27,
		"MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31,
		"SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
	}
}

func ibanShapes() []string {
	var shapes []string
	for country := range ibanLengths() {
		shapes = append(shapes, country+"00")
	}
	return shapes
}

// findIBAN looks for numbers of accounts, in one piece or in groups, whose check
// digits are right.
func findIBAN(s string, f finding) finding {
	f.work += len(s)
	for i := 0; i+14 < len(s); i++ {
		if digit(s[i]) || !alphanumeric(s[i]) || !digit(s[i+2]) || !digit(s[i+3]) || !begins(s, i) {
			continue
		}
		if end := ibanEnd(s, i); end > 0 && !withinUUID(s, i) {
			f.add(i, end)
			i = end - 1
		}
	}
	return f
}

// withinUUID reports whether the second, third or fourth group of a UUID begins at i: its groups may look
// like those of an account.
func withinUUID(s string, i int) bool {
	for _, group := range [...]int{9, 14, 19} {
		if from := i - group; from >= 0 && from+uuidLength <= len(s) && uuidShape.MatchString(s[from:from+uuidLength]) {
			return true
		}
	}
	return false
}

var ibanLength = ibanLengths()

// ibanEnd returns where the number of an account ends that begins at i, or 0.
func ibanEnd(s string, i int) int {
	length := ibanLength[strings.ToUpper(s[i:i+2])]
	if length == 0 {
		return 0
	}
	number, at := make([]byte, 0, 34), i
	for at < len(s) && len(number) < length {
		switch width := ibanGap(s[at:]); {
		case alphanumeric(s[at]):
			number = append(number, s[at])
			at++
		case width > 0 && len(number)%4 == 0:
			at += width
		default:
			return 0
		}
	}
	if len(number) < length || !ends(s, at) || !ibanChecks(number) {
		return 0
	}
	return at
}

// ibanGap returns the length of what stands between two groups.
func ibanGap(s string) int {
	for _, gap := range [...]string{" ", "-", "\u00a0", "%20", "+"} {
		if strings.HasPrefix(s, gap) {
			return len(gap)
		}
	}
	return 0
}

// ibanChecks reads the number with its first four characters at its end, letters
// as 10 to 35: the remainder by 97 is 1.
func ibanChecks(number []byte) bool {
	rest := 0
	for i := range number {
		b := number[(i+4)%len(number)]
		if digit(b) {
			rest = (rest*10 + int(b-'0')) % 97
		} else {
			rest = (rest*100 + int((b|0x20)-'a') + 10) % 97
		}
	}
	return rest == 1
}
