package redact

import "strings"

// tokenByte reports whether a byte is of the alphabet of URLs in base 64.
func tokenByte(b byte) bool { return alphanumeric(b) || b == '-' || b == '_' }

// tokenEnd returns where the run of token bytes ends that begins at i.
func tokenEnd(s string, i int) int {
	for i < len(s) && tokenByte(s[i]) {
		i++
	}
	return i
}

// findDiscord looks for the tokens of bots, which have no literal in them: the
// number of the bot in base 64, six characters of time and a signature, with full
// stops between.
func findDiscord(s string, f finding) finding {
	const id, idMost, stamp, signature = 23, 28, 6, 27
	f.work += len(s)
	for i := 0; i < len(s); {
		at := strings.IndexByte(s[i:], '.')
		if at < 0 {
			break
		}
		dot := i + at
		i = dot + 1
		if dot < id || dot+1+stamp >= len(s) || s[dot+1+stamp] != '.' || tokenEnd(s, dot+1) != dot+1+stamp {
			continue
		}
		from := dot
		for from > 0 && dot-from <= idMost && tokenByte(s[from-1]) {
			from--
		}
		to := tokenEnd(s, dot+2+stamp)
		f.work += to - from
		if length := dot - from; length >= id && length <= idMost && strings.IndexByte("MNO", s[from]) >= 0 && to-dot-2-stamp >= signature {
			f.add(from, to)
			i = to
		}
	}
	return f
}

// findFormerVault looks for s., b. and r. with 24 characters behind.
func findFormerVault(s string, f finding) finding {
	const length = 24
	f.work += len(s)
	for i := 1; i+length < len(s); i++ {
		if s[i] != '.' || strings.IndexByte("sbr", s[i-1]) < 0 || !begins(s, i-1) {
			continue
		}
		end := tokenEnd(s[:min(len(s), i+4*length)], i+1)
		if upper, lower, digits := mixture(s[i+1 : end]); end-i-1 >= length && upper > 2 && lower > 2 && digits > 0 {
			f.add(i-1, end)
			i = end - 1
		}
	}
	return f
}

// findAWSSecret looks for the secret half of a key beside its name: forty
// characters that only chance puts together.
func findAWSSecret(s string, f finding) finding {
	const length = 40
	in := func(b byte) bool { return alphanumeric(b) || b == '/' || b == '+' }
	f.work += len(s)
	for i := 0; i < len(s); i++ {
		if !in(s[i]) {
			continue
		}
		from := i
		for i < len(s) && in(s[i]) {
			i++
		}
		if end := from + length; (i == end || i > end && s[end] == '/') && random(s[from:end]) {
			f.add(from, end)
		}
	}
	return f
}

// random reports whether a text has the variety that chance gives it: paths and
// names repeat their letters, numbers in base 16 have sixteen.
func random(v string) bool {
	var seen [256]bool
	distinct := 0
	for i := range len(v) {
		if !seen[v[i]] {
			seen[v[i]] = true
			distinct++
		}
	}
	upper, lower, digits := mixture(v)
	return distinct*2 > len(v) && upper > 3 && lower > 3 && digits > 1
}
