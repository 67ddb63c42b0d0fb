package retry

import (
	"net/http"
	"strings"
	"time"
)

// MaxRetryAfter is the most that [ParseRetryAfter] returns. No policy waits
// anywhere near as long; the bound keeps arithmetic on the result safe.
const MaxRetryAfter = 365 * 24 * time.Hour

// ParseRetryAfter reads the value of a Retry-After header: a number of seconds
// or an HTTP date in any of the three formats that RFC 9110 allows. What lies in
// the past is zero. It reports false for anything else, an empty header
// included.
func ParseRetryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.Trim(header, " \t")
	if digits := strings.TrimPrefix(header, "-"); isDigits(digits) {
		if digits != header {
			return 0, true
		}
		return parseSeconds(digits), true
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter), true
}

// parseSeconds stops reading at the bound, so no number is too long for it.
func parseSeconds(digits string) time.Duration {
	var d time.Duration
	for _, c := range digits {
		d = d*10 + time.Duration(c-'0')*time.Second
		if d >= MaxRetryAfter {
			return MaxRetryAfter
		}
	}
	return d
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
