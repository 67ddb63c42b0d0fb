package redact

import (
	"strings"
	"unicode/utf8"
)

const (
	// shortestRun is the least length of what is looked at as base 64 or base 16:
	// ten bytes in the first, seven in the other.
	shortestRun = 14

	// shortestText is how much of it must be text to be looked at.
	shortestText = 7
)

// encoded looks for secrets in what is written in base 64 or base 16. A text that
// has one in it is taken whole, because its letters cannot be told apart.
func (r *Redactor) encoded(s string, f finding) finding {
	for i := shortestRun - 1; i < len(s); {
		if !base64Byte(s[i]) {
			i += shortestRun // no run of this length lies around here
			continue
		}
		from, to := i, i
		for from > 0 && i-from < shortestRun && base64Byte(s[from-1]) {
			from--
		}
		for to < len(s) && base64Byte(s[to]) {
			to++
		}
		if to-from >= shortestRun {
			f = r.run(s, from, to, f)
		}
		i = to + shortestRun
	}
	return f
}

// class says what a byte may be part of, one bit each.
type class uint8

const (
	inBase64 class = 1 << iota
	inHex
	inText // is no control character
)

// classes is a table because every byte of every text is looked up in it.
var classes = func() (table [256]class) {
	for i := range table {
		b := byte(i)
		if alphanumeric(b) || strings.IndexByte("+/-_", b) >= 0 {
			table[i] |= inBase64
		}
		if hexDigit(b) >= 0 {
			table[i] |= inHex
		}
		if ' ' <= b && b != 0x7f || b == '\n' || b == '\r' || b == '\t' {
			table[i] |= inText
		}
	}
	return table
}()

func base64Byte(b byte) bool { return classes[b]&inBase64 != 0 }

// run looks at a run of the letters of base 64.
func (r *Redactor) run(s string, from, to int, f finding) finding {
	hex := 0
	for i := from; i < to; i++ {
		hex += int(classes[s[i]] & inHex >> 1)
	}
	f.work += to - from
	if hex >= shortestRun {
		f = r.hexRuns(s, from, to, f)
	}
	if hex+4 >= to-from { // a hash, or an id with its dashes
		return f
	}
	for offset := range min(4, to-from) {
		f = r.texts(s, from+offset, to, &base64Decoder, f)
	}
	return f
}

// hexRuns looks at the longest runs of digits in base 16.
func (r *Redactor) hexRuns(s string, from, to int, f finding) finding {
	for i := from; i < to; i++ {
		begin := i
		for i < to && classes[s[i]]&inHex != 0 {
			i++
		}
		if i-begin < shortestRun {
			continue
		}
		for offset := range 2 {
			f = r.texts(s, begin+offset, i, &hexDecoder, f)
		}
	}
	return f
}

// decoder reads a group of letters as bytes.
type decoder struct {
	letters, bytes int
	value          [256]uint8 // of each letter
	bits           int
}

var (
	base64Decoder = decoder{letters: 4, bytes: 3, bits: 6, value: tabled(base64Value)}
	hexDecoder    = decoder{letters: 2, bytes: 1, bits: 4, value: tabled(hexDigit)}
)

func tabled(value func(byte) int) (table [256]uint8) {
	for b := range table {
		table[b] = uint8(max(0, value(byte(b))))
	}
	return table
}

func base64Value(b byte) int {
	switch {
	case 'A' <= b && b <= 'Z':
		return int(b - 'A')
	case 'a' <= b && b <= 'z':
		return int(b-'a') + 26
	case digit(b):
		return int(b-'0') + 52
	case b == '+' || b == '-':
		return 62
	}
	return 63
}

// group returns the letters at i as bits, from the highest of its bytes down, and how
// many whole bytes they are. The last group, which ends at to, may be shorter.
func (d *decoder) group(s string, i, to int) (bits, whole int) {
	switch v := &d.value; {
	case to-i < d.letters:
		for k := range d.letters {
			if bits <<= d.bits; i+k < to {
				bits |= int(v[s[i+k]])
			}
		}
		return bits, (to - i) * d.bits / 8
	case d.letters == 4:
		g := s[i : i+4]
		return int(v[g[0]])<<18 | int(v[g[1]])<<12 | int(v[g[2]])<<6 | int(v[g[3]]), d.bytes
	default:
		return int(v[s[i]])<<4 | int(v[s[i+1]]), d.bytes
	}
}

// texts decodes s from from to to and looks at each part of it that is text.
func (r *Redactor) texts(s string, from, to int, d *decoder, f finding) finding {
	var room [96]byte
	text, begin := room[:0], from
	for i := from; i < to; i += d.letters {
		bits, whole := d.group(s, i, to)
		for k := range whole {
			b := byte(bits >> (8 * (d.bytes - 1 - k)))
			if classes[b]&inText == 0 {
				if len(text) >= shortestText {
					f = r.within(s, begin, min(i+d.letters, to), text, f)
				}
				text, begin = text[:0], i
				continue
			}
			if len(text) == 0 {
				begin = i
			}
			text = append(text, b)
		}
	}
	f.work += to - from
	if len(text) >= shortestText {
		f = r.within(s, begin, to, text, f)
	}
	return f
}

// within looks at a text that stands encoded from from to to. If a rule finds
// something in it, all of it is taken, with the padding behind.
func (r *Redactor) within(s string, from, to int, decoded []byte, f finding) finding {
	for n := 0; n < 3 && len(decoded) > shortestText && !utf8.Valid(decoded); n++ {
		decoded = decoded[1:] // the letters of a word before the text: req_dGhlIH…
	}
	if !utf8.Valid(decoded) {
		return f
	}
	text := string(decoded)
	inner := r.lines(text)
	if v, changed := decodeLayer(text); changed {
		more := r.lines(v.text)
		inner.spans, inner.work = append(inner.spans, more.spans...), inner.work+more.work
	}
	f.work += inner.work
	if len(inner.spans) == 0 {
		return f
	}
	end := to
	for end < len(s) && s[end] == '=' {
		end++
	}
	f.work += end - to
	for _, sp := range inner.spans {
		f.spans = append(f.spans, span{from: from, to: end, rule: sp.rule, lenient: sp.lenient})
	}
	return f
}

// covered looks for secrets behind one layer of disguise.
func (r *Redactor) covered(s string, f finding) finding {
	f = r.encoded(s, f)
	v, changed := decodeLayer(s)
	if !changed {
		return f
	}
	inner := r.encoded(v.text, r.lines(v.text))
	f.work += inner.work
	for _, sp := range inner.spans {
		if sp.from < sp.to {
			sp.from, sp.to = v.original(sp.from, sp.to)
			f.spans = append(f.spans, sp)
		}
	}
	return f
}
