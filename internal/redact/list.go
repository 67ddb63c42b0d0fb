package redact

import "strings"

// maxList is how long a list of values is at most. The rest is left out.
const maxList = 8 << 10

// listEnd returns where the list ends that opens with the bracket at i: at its closing bracket,
// or where the text or the limit ends.
func listEnd(s string, i int) int {
	limit := min(len(s), i+maxList)
	depth := 0
	for at := i; at < limit; at++ {
		if end := quotedEnd(s, i, at, limit); end > at {
			at = end
			continue
		}
		if depth += nesting(s[at]); depth == 0 {
			return at
		}
	}
	return limit
}

// nesting returns 1 for a bracket that opens, -1 for one that closes, and 0 for any other byte.
func nesting(b byte) int {
	switch b {
	case '[', '(', '{':
		return 1
	case ']', ')', '}':
		return -1
	}
	return 0
}

// quotedEnd returns where the quotation closes that opens at at, or at if none opens there.
func quotedEnd(s string, begin, at, limit int) int {
	_, end := quotation(s, begin, at, limit)
	return end
}

// quotation returns what stands in the quotation that opens at at, and where it closes. That is
// at if none opens there: a quote opens a quotation only where a value can begin, which the
// apostrophe of "it's" does not.
func quotation(s string, begin, at, limit int) (extent, int) {
	if !isQuote(s[at]) {
		return extent{}, at
	}
	escapes := 0
	for at-escapes > begin && s[at-escapes-1] == '\\' {
		escapes++
	}
	before := at - escapes
	if before > begin && strings.IndexByte("bBuUrRNE", s[before-1]) >= 0 {
		before--
	}
	if before > begin && strings.IndexByte(" \t\r\n,([{=:>-", s[before-1]) < 0 {
		return extent{}, at
	}
	to := quoteEnd(s[:limit], at, escapes)
	if to == limit {
		return extent{}, at
	}
	end := to
	for s[end] == '\\' {
		end++
	}
	return extent{from: at + 1, to: to}, end
}

// split returns the values of the list between from and to, which commas separate.
func split(s string, from, to int) (items []extent) {
	depth, begin := 0, from
	for at := from; at < to; at++ {
		if end := quotedEnd(s, begin, at, to); end > at {
			at = end
			continue
		}
		depth += nesting(s[at])
		if s[at] == ',' && depth <= 0 {
			items, begin = append(items, trimmed(s, begin, at)), at+1
		}
	}
	if last := trimmed(s, begin, to); last.from < last.to || len(items) > 0 {
		items = append(items, last)
	}
	return items
}

// splitBlanks returns the values of a list as Go prints it: [ada 42].
func splitBlanks(s string, from, to int) (items []extent) {
	for from < to {
		end := from
		for end < to && s[end] != ' ' {
			end++
		}
		if end > from {
			items = append(items, extent{from: from, to: end, bare: true})
		}
		from = end + 1
	}
	return items
}

// trimmed returns a part of a text without the blanks around it.
func trimmed(s string, from, to int) extent {
	for from < to && strings.IndexByte(" \t\r\n", s[from]) >= 0 {
		from++
	}
	for from < to && strings.IndexByte(" \t\r\n", s[to-1]) >= 0 {
		to--
	}
	return extent{from: from, to: to, bare: true}
}

// unquoted returns the first quotation in an item of a list, as in 'X', N'X', Some("X") and
// crypt('X', salt), or all of the item.
func unquoted(s string, item extent) extent {
	for at := item.from; at < item.to; at++ {
		if inner, end := quotation(s, item.from, at, item.to); end > at {
			return inner
		}
	}
	return item
}
