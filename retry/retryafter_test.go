package retry_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2025, 10, 23, 7, 28, 0, 0, time.UTC)
	for _, c := range []struct {
		header string
		want   time.Duration
		ok     bool
	}{
		{"120", 2 * time.Minute, true},
		{" 3600\t", time.Hour, true},
		{"0", 0, true},
		{"000060", time.Minute, true},
		{"-5", 0, true},
		{"31536000", retry.MaxRetryAfter, true},
		{"31536001", retry.MaxRetryAfter, true},
		{"99999999999999999999999999999999", retry.MaxRetryAfter, true},
		{"Thu, 23 Oct 2025 07:29:30 GMT", 90 * time.Second, true},
		{"Thursday, 23-Oct-25 07:29:30 GMT", 90 * time.Second, true},
		{"Thu Oct 23 07:29:30 2025", 90 * time.Second, true},
		{"Thu, 23 Oct 2025 07:00:00 GMT", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", retry.MaxRetryAfter, true},
		{"", 0, false},
		{"-", 0, false},
		{"--5", 0, false},
		{"+5", 0, false},
		{"1.5", 0, false},
		{"60s", 0, false},
		{"1e3", 0, false},
		{"٣", 0, false},
		{"soon", 0, false},
		{"2025-10-23T07:29:30Z", 0, false},
	} {
		got, ok := retry.ParseRetryAfter(c.header, now)
		if got != c.want || ok != c.ok {
			t.Errorf("ParseRetryAfter(%q) = %v, %v, want %v, %v", c.header, got, ok, c.want, c.ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, header := range []string{"120", "-1", "", " 7 ", "99999999999999999999", "Thu, 23 Oct 2025 07:29:30 GMT", "Thursday, 23-Oct-25 07:29:30 GMT", "Thu Oct 23 07:29:30 2025", "soon"} {
		f.Add(header, int64(1761204480))
	}
	f.Fuzz(func(t *testing.T, header string, unix int64) {
		got, ok := retry.ParseRetryAfter(header, time.Unix(unix, 0))
		if got < 0 || got > retry.MaxRetryAfter || !ok && got != 0 {
			t.Errorf("ParseRetryAfter(%q) = %v, %v", header, got, ok)
		}
	})
}
