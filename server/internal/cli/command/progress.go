package command

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// ShowProgress draws how far long work has come, where somebody watches. A total of
// -1 is not known. Its end is to be called when the work is over.
func (s Streams) ShowProgress(what string) (advance func(done, total int), end func()) {
	if !s.Terminal {
		return func(int, int) {}, func() {}
	}
	bar := s.ProgressBar(what, 50*time.Millisecond)
	return func(done, total int) {
		bar.ChangeMax(total)
		_ = bar.Set(done) // a terminal that is gone shows nothing
	}, func() { _ = bar.Finish() }
}

// ProgressBar is a bar for a terminal, which is drawn at most so often.
func (s Streams) ProgressBar(what string, every time.Duration) *progressbar.ProgressBar {
	return progressbar.NewOptions(-1, progressbar.OptionSetWriter(s.Err),
		progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(every), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0)) // or it would turn by itself, beside what is printed
}
