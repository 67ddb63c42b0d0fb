package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// units are what a duration may be written in, longest first.
var units = [...]struct {
	suffix string
	length time.Duration
}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// ParseDuration reads a duration as the policy file writes it: a whole number
// of at most five digits and one of the units d, h, m, s and ms.
func ParseDuration(s string) (time.Duration, error) {
	digits := strings.TrimRight(s, "dhms")
	for _, u := range units {
		if u.suffix != s[len(digits):] {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || len(digits) > 5 {
			break
		}
		return time.Duration(n) * u.length, nil
	}
	return 0, fmt.Errorf("%q is no duration: expected a whole number and a unit, such as 90s, 15m, 24h or 7d", s)
}

// FormatDuration writes d as the policy file would: in the largest unit that
// divides it. Days begin above two of them, because people say 24 h and 48 h.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	for _, u := range units {
		if d%u.length == 0 && (u.length < day || d > 2*day) {
			return strconv.FormatInt(int64(d/u.length), 10) + u.suffix
		}
	}
	return d.String()
}

// duration is a duration in the file.
type duration time.Duration

func (d *duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	*d = duration(v)
	return err
}
