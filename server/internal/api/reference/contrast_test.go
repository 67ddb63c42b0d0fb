package reference

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var token = regexp.MustCompile(`--([\w-]+): #([0-9a-f]{6}|[0-9a-f]{3});`)

// Every text stands out from what is behind it as WCAG's level AA demands, in both themes.
func TestContrast(t *testing.T) {
	t.Parallel()
	css, err := static.ReadFile("static/reference.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, _ := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	for name, theme := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, found := range token.FindAllStringSubmatch(theme, -1) {
			colours[found[1]] = luminance(t, found[2])
		}
		for text, behind := range map[string][]string{
			"ink": {"bg", "panel", "sunk", "accent-soft"}, "ink-2": {"bg", "panel", "sunk"}, "ink-3": {"bg", "panel", "sunk", "accent-soft"},
			"accent": {"bg", "panel"}, "put": {"bg", "put-soft"}, "get": {"get-soft"}, "post": {"post-soft"}, "delete": {"delete-soft"},
		} {
			for _, b := range behind {
				lighter, darker := max(colours[text], colours[b]), min(colours[text], colours[b])
				if ratio := (lighter + .05) / (darker + .05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has the contrast %.2f, and needs 4.5", name, text, b, ratio)
				}
			}
		}
	}
}

// luminance is that of a colour, as WCAG defines it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = strings.Repeat(hex[:1], 2) + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:], 2)
	}
	sum := 0.0
	for i, share := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= .03928 {
			sum += share * v / 12.92
			continue
		}
		sum += share * math.Pow((v+.055)/1.055, 2.4)
	}
	return sum
}
