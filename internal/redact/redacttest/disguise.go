package redacttest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Disguises are the ways in which a secret is hidden: one layer each.
func Disguises() map[string]func(string) string {
	each := func(write func(rune) string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for _, r := range s {
				b.WriteString(write(r))
			}
			return b.String()
		}
	}
	twins := strings.NewReplacer("a", "а", "c", "с", "e", "е", "o", "о", "p", "р", "x", "х", "y", "у", "A", "А", "B", "В", "E", "Е", "K", "К", "M", "М", "H", "Н", "O", "О", "P", "Р", "C", "С", "T", "Т", "X", "Х")
	names := strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", `"`, "&quot;", "'", "&apos;", "=", "&equals;", ":", "&colon;", "@", "&commat;", "/", "&sol;", "+", "&plus;", "_", "&lowbar;", " ", "&nbsp;", ".", "&period;", "!", "&excl;", "*", "&ast;")
	return map[string]func(string) string{
		"base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"hex":       func(s string) string { return hex.EncodeToString([]byte(s)) },
		"percent": func(s string) string {
			return "%" + strings.ToUpper(strings.Join(pairs(hex.EncodeToString([]byte(s))), "%"))
		},
		"json escapes":  each(func(r rune) string { return fmt.Sprintf(`\u%04x`, r) }),
		"full-width":    each(wide),
		"zero-width":    each(func(r rune) string { return string(r) + "\u200b" }),
		"look-alikes":   twins.Replace,
		"soft hyphens":  each(func(r rune) string { return "\u00ad" + string(r) }),
		"html names":    names.Replace,
		"html entities": each(func(r rune) string { return fmt.Sprintf("&#%d;", r) }),
	}
}

func wide(r rune) string {
	if '!' <= r && r <= '~' {
		return string(r - '!' + 0xff01)
	}
	return string(r)
}

func pairs(s string) (list []string) {
	for ; len(s) > 1; s = s[2:] {
		list = append(list, s[:2])
	}
	return list
}

// Disguised hides the sample. What must not survive is the secret in its disguise;
// where letters of one cannot be told from those around it, the middle of all.
func (s Sample) Disguised(name string) Sample {
	hide := Disguises()[name]
	hidden := Sample{Rule: s.Rule, Text: hide(s.Text), Secret: hide(s.Secret), plain: &s, disguise: name}
	if strings.HasPrefix(name, "base64") || name == "hex" {
		third := len(hidden.Text) / 3
		hidden.Secret = hidden.Text[third : len(hidden.Text)-third]
	}
	return hidden
}

// Hidden reports whether the sample is disguised.
func (s Sample) Hidden() bool { return s.plain != nil }

// Planted returns n samples, the same for the same seed: every kind in turn, each
// time in another disguise or in none.
func Planted(seed uint64, n int) []Sample {
	m := newMaker(seed)
	names := append([]string{""}, slices.Sorted(maps.Keys(Disguises()))...)
	var list []Sample
	for round := 0; len(list) < n; round++ {
		for i, s := range m.kinds(round) {
			if name := names[(i+round)%len(names)]; name != "" {
				s = s.Disguised(name)
			}
			list = append(list, s)
		}
	}
	return list[:n]
}

// Kinds is how many different kinds there are.
func Kinds() int { return len(newMaker(0).kinds(0)) }
