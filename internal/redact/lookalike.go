package redact

import (
	"strings"
	"unicode/utf8"
)

// latin has the letters of other alphabets that look like those of ASCII.
func latin() map[rune]rune {
	pairs := map[string]string{
		"асеорхуѕіјһԁԛԝѵӏ":     "aceopxysijhdqwvl",
		"АВЕЅІЈКМНОРСТУХԌԚԜѴӀ": "ABESIJKMHOPCTYXGQWVI",
		"αικνορτυχϲϳ":          "aikvoptuxcj",
		"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ":      "ABEZHIKMNOPTYXC",
		"ɑɡıʟոսհցօքᴀʙᴄᴅᴇɢʜɪᴊᴋᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢℓⅼⅰⅴⅹ": "agilnuhgoqabcdeghijkmnoprstuvwyzllivx",
		"‐‑–−﹘": "-----",
	}
	table := map[rune]rune{}
	for from, to := range pairs {
		plain := []rune(to)
		i := 0
		for _, r := range from {
			table[r] = plain[i]
			i++
		}
	}
	return table
}

var lookalikes = latin()

// lookalike returns the character of ASCII that r looks like, or r, and whether it
// is seen at all.
func lookalike(r rune) (plain rune, seen bool) {
	switch {
	case r < utf8.RuneSelf:
		return r, true
	case Invisible(r):
		return 0, false
	case 0xff01 <= r && r <= 0xff5e: // full-width
		return r - 0xff01 + '!', true
	case r == 0x3000 || r == 0xa0 || 0x2000 <= r && r <= 0x200a || r == 0x202f || r == 0x205f:
		return ' ', true
	case 0x1d400 <= r && r <= 0x1d6a3: // mathematical letters: twice 26 in each style
		n := (r - 0x1d400) % 52
		if n < 26 {
			return 'A' + n, true
		}
		return 'a' + n - 26, true
	case 0x1d7ce <= r && r <= 0x1d7ff: // mathematical digits
		return '0' + (r-0x1d7ce)%10, true
	case 0x24b6 <= r && r <= 0x24cf: // circled letters
		return 'A' + r - 0x24b6, true
	case 0x24d0 <= r && r <= 0x24e9:
		return 'a' + r - 0x24d0, true
	case 0x0660 <= r && r <= 0x0669: // digits of Arabic
		return '0' + r - 0x0660, true
	case 0x06f0 <= r && r <= 0x06f9: // and of Persian
		return '0' + r - 0x06f0, true
	case 0x0966 <= r && r <= 0x096f: // and of Hindi
		return '0' + r - 0x0966, true
	}
	if plain, ok := lookalikes[r]; ok {
		return plain, true
	}
	return r, true
}

// Invisible reports whether a character is not seen, or changes the direction in
// which others are: zero-width characters, marks of direction, soft hyphens,
// selectors of variants, tags, and the empty braille pattern.
func Invisible(r rune) bool {
	switch {
	case 0x200b <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, 0x180b <= r && r <= 0x180f,
		0xfe00 <= r && r <= 0xfe0f, 0xfff0 <= r && r <= 0xfff8, 0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	switch r {
	case 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xfeff, 0xffa0:
		return true
	}
	return false
}

// folded writes look-alike letters as what they look like.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if plain, seen := lookalike(r); seen {
			return plain
		}
		return -1
	}, s)
}
