package redact

import "strings"

// arrows stand between the two values of a change: password = "old" -> "new".
var arrows = [...]string{"->", "=>", "→", "⇒"}

// changedTo returns the value that an arrow behind the value v says it was changed to, or an empty
// range.
func (k keyed) changedTo(s string, v extent, a *ahead) extent {
	const gap = 16 // at most between a value and the arrow
	i := v.to
	for i < len(s) && s[i] == '\\' && i < v.to+gap {
		i++
	}
	if i < len(s) && isQuote(s[i]) {
		i++
	}
	rest := s[i:min(len(s), i+gap)]
	arrow := strings.TrimLeft(rest, " \t")
	i += len(rest) - len(arrow)
	if len(arrow) == len(rest) && v.bare {
		return extent{}
	}
	for _, sign := range arrows {
		if strings.HasPrefix(arrow, sign) {
			return k.secondValue(s, i+len(sign), a)
		}
	}
	return extent{}
}

// secondValue returns the value behind the arrow that ends at i, or an empty range. A value without
// quotes may be a word of the sentence, so it must look like a password.
func (k keyed) secondValue(s string, i int, a *ahead) extent {
	for gap := i + 4; i < gap && i < len(s) && (s[i] == ' ' || s[i] == '\t'); {
		i++
	}
	if i == len(s) || strings.IndexByte("([{<", s[i]) >= 0 {
		return extent{}
	}
	v := k.extent(s, i, a)
	if v.from >= v.to || v.harmless(s) || v.bare && !chosenAt(s, v.from, v.to) || !k.takes(s, i, i, s[v.from:v.to]) {
		return extent{}
	}
	return k.whole(s, v, a)
}
