package archive

import "github.com/recoup-dev/recoup/server/internal/config"

// Settings are those of event files.
func Settings() []config.Setting {
	return []config.Setting{{
		Name: "event-files", Env: "RECOUP_EVENT_FILES", After: "admin-key-file",
		Help: "`FOLDER`, or s3://BUCKET/PREFIX, to write days of events to as Parquet files, before their month is dropped; off ends that (default: as it was)",
	}}
}
