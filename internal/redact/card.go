package redact

import (
	"slices"
	"strings"
)

// issuer is a range of the first four digits of payment cards, with the lengths
// that its cards have, one bit each.
type issuer struct{ first, last, lengths int }

const (
	upTo19From13 = 1<<20 - 1<<13
	upTo19From14 = 1<<20 - 1<<14
	upTo19From16 = 1<<20 - 1<<16
)

func issuers() []issuer {
	return []issuer{
		{2200, 2204, upTo19From16},          // Mir
		{2221, 2720, 1 << 16},               // Mastercard
		{3000, 3059, upTo19From14},          // Diners Club
		{3400, 3499, 1 << 15},               // American Express
		{3528, 3589, upTo19From16},          // JCB
		{3600, 3699, upTo19From14},          // Diners Club
		{3700, 3799, 1 << 15},               // American Express
		{3800, 3999, upTo19From14},          // Diners Club
		{4000, 4999, 1<<13 | 1<<16 | 1<<19}, // Visa
		{5000, 5099, upTo19From13},          // Maestro
		{5100, 5599, 1 << 16},               // Mastercard
		{5600, 6999, upTo19From13},          // Maestro, Discover, UnionPay, RuPay
	}
}

const (
	maxCard  = 19 // digits
	maxGroup = 6  // digits in a group after the first
)

// cardSeparators lists what people and programs write between groups of digits. A
// separator that begins with another one stands before it.
func cardSeparators() [14]string {
	return [...]string{"  ", " ", "-", ".", "%20", "+", "\u00a0", "\t", "–", "/", "_", ":", ",", "|"}
}

// cardShapes lists how the numbers of cards begin: in one piece or in groups.
func cardShapes() []string {
	shapes := []string{strings.Repeat("0", 13), "00000000-00000000"}
	for _, separator := range cardSeparators() {
		for _, groups := range [][]string{{"0000", "0000", "0000"}, {"0000", "000000", "0000"}} {
			shapes = append(shapes, strings.Join(groups, separator))
		}
	}
	return shapes
}

// findCards looks at groups of digits. A card may stand between other numbers, so
// each group may begin one.
func findCards(s string, f finding) finding {
	f.work += len(s)
	for i := 0; i < len(s); {
		switch {
		case s[i] > '9': // most of a line
			i++
		case digit(s[i]):
			end := groupEnd(s, i)
			if end-i < 4 {
				i = end
				continue
			}
			if card := cardEnd(s, i, end); card > 0 {
				end = dataEnd(s, card)
				f.add(i, end)
			}
			i = end
		case track(s, i+2):
			i += len("%B")
		case s[i] == '%': // %20 is a space, not the number 20
			i += 3
		default:
			i++
		}
	}
	return f
}

// cardEnd returns where the card ends that begins at i with the group of digits up
// to group, or 0 if none does.
func cardEnd(s string, i, group int) int {
	if s[i] < '2' || '6' < s[i] || !begins(s, i) && !glued(s, i) && !track(s, i) {
		return 0
	}
	fraction := i > 1 && s[i-1] == '.' && digit(s[i-2])
	if (ends(s, group) || s[group] == 'D' && dataEnd(s, group) > group) && !fraction && cardNumber(s[i:group]) {
		return group
	}
	if group-i != 4 {
		return halvesEnd(s, i, group)
	}
	for _, separator := range cardSeparators() {
		if strings.HasPrefix(s[group:], separator) {
			return groupedEnd(s, i, group, separator)
		}
	}
	return 0
}

// groupedEnd returns where the card ends whose first group lies from i to end. Four
// to six digits follow in each group, any number up to six in the last. UUIDs,
// dates and phone numbers have other groups.
func groupedEnd(s string, i, end int, separator string) int {
	digits := append(make([]byte, 0, maxCard+maxGroup), s[i:end]...)
	for strings.HasPrefix(s[end:], separator) && len(digits) < maxCard {
		next := end + len(separator)
		end = groupEnd(s[:min(len(s), next+maxGroup)], next)
		digits = append(digits, s[next:end]...)
		switch {
		case end == next:
			return 0
		case ends(s, end) && cardNumber(string(digits)):
			if strings.Contains(listSeparators, separator) && !listedCard(s, i, end) {
				return 0
			}
			return end
		case end-next < 4:
			return 0
		}
	}
	return 0
}

// glued reports whether a word stands directly before i, as in card4242. The
// letters of hashes and identifiers are fewer, or have digits before them.
func glued(s string, i int) bool {
	const shortest, longest = 3, 12
	from, hex := i, true
	for from > 0 && alphanumeric(s[from-1]) && !digit(s[from-1]) && i-from <= longest {
		from--
		hex = hex && s[from]|0x20 <= 'f'
	}
	return shortest <= i-from && i-from <= longest && !hex && begins(s, from)
}

// track reports whether the number at i follows the beginning of the track of a card: %B.
func track(s string, i int) bool {
	const shortest = 13
	return i > 1 && i <= len(s) && s[i-2:i] == "%B" && groupEnd(s, i)-i >= shortest
}

func groupEnd(s string, i int) int {
	for i < len(s) && digit(s[i]) {
		i++
	}
	return i
}

// cardNumber reports whether a number has an issuer,
// a length that the issuer uses, and the right check digit.
func cardNumber(s string) bool {
	if len(s) < 13 || len(s) > maxCard {
		return false
	}
	digits := make([]byte, 0, maxCard)
	for i := range len(s) {
		digits = append(digits, s[i]-'0')
	}
	prefix := 0
	for _, d := range digits[:4] {
		prefix = prefix*10 + int(d)
	}
	return luhn(digits) && slices.ContainsFunc(issuers(), func(is issuer) bool {
		return is.first <= prefix && prefix <= is.last && is.lengths>>len(digits)&1 == 1
	})
}

// luhn doubles every second digit from the right, adds up the digits, and wants a
// multiple of ten.
func luhn(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		if (len(digits)-i)%2 == 0 {
			d = d*2/10 + d*2%10
		}
		sum += int(d)
	}
	return sum%10 == 0
}
