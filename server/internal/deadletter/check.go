package deadletter

import (
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
)

// The bounds of what callers send.
const (
	MaxBatch      = engine.MaxBatch
	MaxStack      = 64 << 10  // bytes of a stack as it is sent
	maxKeptStack  = 16 << 10  // and as it is kept: its beginning, which is where it broke
	MaxPayload    = 256 << 10 // bytes of a payload
	MaxCheckpoint = 1 << 20   // bytes of the output of a stage
	maxText       = 4000      // bytes of a note, or of what was done
)

// text checks and cleans free text, which may be empty, and trims it.
func text(f *check.Fields, field, s string, limit int) string {
	return strings.TrimSpace(f.Text(field, s, limit))
}

// needed is text that must not be blank.
func needed(f *check.Fields, field, s string) string {
	return strings.TrimSpace(f.RequiredText(field, s, maxText))
}

// CheckReason says what is wrong with a reason that must be given.
func CheckReason(reason string) error {
	var f check.Fields
	needed(&f, "reason", reason)
	return f.Err()
}

// class reads a class as people write it, and may be empty.
func (s *Service) class(class recoup.Code) (recoup.Code, error) {
	if class == "" {
		return "", nil
	}
	_, code, err := s.Codes().Fold(string(class))
	if err != nil {
		return class, fault.BadField("error_class", "pattern", "%v", err)
	}
	return code, nil
}
