package errorcmd

import (
	"encoding/json"
	"io"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// imported is what became of a file, as --json prints it.
type imported struct {
	Rows       int               `json:"rows"`
	Recorded   int               `json:"recorded"`
	Superseded int               `json:"superseded"`
	Expired    int               `json:"expired"`
	Orphaned   int               `json:"orphaned"`
	Repeated   int               `json:"repeated"`
	Refused    int               `json:"refused"`
	Lines      []command.Refused `json:"refused_lines,omitempty"` // the first thousand
	DryRun     bool              `json:"dry_run"`
}

func (i *imported) add(sent *recoup.ErrorsImported) {
	i.Recorded += sent.Recorded
	i.Superseded += sent.Superseded
	i.Expired += sent.Expired
	i.Orphaned += sent.Orphaned
	i.Repeated += sent.Repeated
	i.Rows += sent.Recorded + sent.Repeated
}

// refuse notes refused rows, all of them in the list.
func (i *imported) refuse(rows []command.Refused, list io.Writer) error {
	i.Refused += len(rows)
	i.Rows += len(rows)
	i.Lines = append(i.Lines, rows[:min(len(rows), keptLines-len(i.Lines))]...)
	encoder := json.NewEncoder(list)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

func (i *imported) say(s *command.Session) {
	verb := "recorded"
	if i.DryRun {
		verb = "would be recorded"
	}
	s.Sayf("%s: %d %s, %d already imported, %d refused", command.Count(i.Rows, "row"), i.Recorded, verb, i.Repeated, i.Refused)
	s.Sayf("Of those: %d superseded by another report of the same failure, %d archived at once because of their age, %d orphaned", i.Superseded, i.Expired, i.Orphaned)
}
