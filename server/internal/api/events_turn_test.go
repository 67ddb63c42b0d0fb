package api

import (
	"context"
	"errors"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Events and rows of imports are read only while the client waits.
func TestReadingEndsWithItsClient(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	for media, body := range map[string]string{
		fault.MediaJSON: `[{"code":"TIMEOUT","service":1}]`, httpapi.MediaNDJSON: `{"code":"TIMEOUT","service":"s"}`,
	} {
		if _, err := newEventDecoder().decode(ctx, media, []byte(body)); !errors.Is(err, turn.ErrUnfinished) {
			t.Errorf("events as %s: %v", media, err)
		}
	}
	rows := (&importErrorsIn{}).Body
	rows.Format, rows.Lines = "ndjson", `{"code":"TIMEOUT","created_at":"2026-02-05T15:04:05Z"}`
	if _, _, err := (&importErrorsIn{Body: rows}).read(ctx); !errors.Is(err, turn.ErrUnfinished) {
		t.Errorf("errors: %v", err)
	}
}
