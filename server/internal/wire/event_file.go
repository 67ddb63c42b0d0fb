package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// EventFile is a file with the events of one day: what its manifest says of it.
type EventFile struct {
	Day       time.Time          `json:"day" doc:"midnight, UTC"`
	Name      string             `json:"file" doc:"the name of the file"`
	Version   int                `json:"version" doc:"how often the day was written: more than once if events came late"`
	Rows      int64              `json:"rows" doc:"how many events are in it"`
	Bytes     int64              `json:"bytes" doc:"how large it is"`
	SHA256    string             `json:"sha256" doc:"the checksum of its bytes, in hexadecimal"`
	First     time.Time          `json:"first_ts,omitzero" doc:"when the first of its events happened"`
	Last      time.Time          `json:"last_ts,omitzero" doc:"when the last of its events happened"`
	Codes     []recoup.CodeCount `json:"codes,omitempty" doc:"how many events each code has"`
	WrittenAt time.Time          `json:"written_at" doc:"when it was written"`
}
