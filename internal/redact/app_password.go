package redact

// appPasswordEnd returns where the password ends that begins at i and that a mail provider made: four
// groups of four letters with blanks between them. It returns 0 if there is none, as for four words
// of four letters.
func appPasswordEnd(s string, i int) int {
	const groups, letters, least = 4, 4, 12 * 8 // less than chance costs in twelve pairs of letters
	end := i + groups*(letters+1) - 1
	if end > len(s) || !ends(s, end) {
		return 0
	}
	sum := 0
	for k := i; k < end; k++ {
		switch blank := (k-i)%(letters+1) == letters; {
		case blank != (s[k] == ' ') || !blank && (s[k] < 'a' || s[k] > 'z'):
			return 0
		case !blank && k > i && s[k-1] != ' ':
			sum += cost(s[k-1], s[k])
		}
	}
	if sum <= least {
		return 0
	}
	return end
}
