package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/stage"
)

const (
	pipelineName = "thumbnails"

	unreadable recoup.Code = "IMAGE_UNREADABLE" // both are defined by policy.yaml
	closed     recoup.Code = "GALLERY_CLOSED"
)

// thumbnails takes pictures through fetch, resize and publish.
type thumbnails struct {
	gallery string
	out     io.Writer
	left    atomic.Int64 // pictures that are yet to end
	ended   func()
}

// pipeline has three stages. What a stage returns is kept by the server: a replay goes on
// at the stage that failed, and the stages before it do not run again.
func (t *thumbnails) pipeline() stage.Pipeline {
	patience := retry.Stage() // as it is by default, for people who do not want to wait
	patience.Schedule.Base, patience.Schedule.Cap = 10*time.Millisecond, 100*time.Millisecond
	return stage.Pipeline{Name: pipelineName, Stages: []stage.Stage{
		{Name: "fetch", Run: t.fetch, Policy: &patience},
		{Name: "resize", Run: t.resize, Policy: &patience},
		{Name: "publish", Run: t.publish, Policy: &patience},
	}}
}

// observe says what became of an attempt, and counts the pictures that have come to
// their end.
func (t *thumbnails) observe(a stage.Attempt) {
	if a.Err == nil && a.Stage != "publish" || a.Err != nil && a.Verdict == retry.Retry {
		return
	}
	if a.Err != nil {
		fmt.Fprintf(t.out, "given up at %s after %d attempt(s): %v\n", a.Stage, a.Number, a.Err)
	}
	if t.left.Add(-1) == 0 {
		t.ended()
	}
}

// fetch stands in for the host that pictures come from; one of them is torn.
func (t *thumbnails) fetch(_ context.Context, in stage.Input) ([]byte, error) {
	name := path.Base(string(in.Payload))
	fmt.Fprintf(t.out, "%s: fetch\n", name)
	picture := image.NewGray(image.Rect(0, 0, 96, 64))
	for i := range picture.Pix {
		picture.Pix[i] = byte(i * len(name))
	}
	file, err := encode(picture)
	if strings.HasPrefix(name, "torn") {
		file = file[:len(file)/2]
	}
	return file, err
}

// resize makes a picture a quarter as wide and as high.
func (t *thumbnails) resize(_ context.Context, in stage.Input) ([]byte, error) {
	file, _ := in.Output("fetch")
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, fault.Wrap(err, unreadable, "The picture cannot be decoded.")
	}
	fmt.Fprintf(t.out, "%s: resize\n", path.Base(string(in.Payload)))
	size := picture.Bounds().Size().Div(4)
	small := image.NewGray(image.Rect(0, 0, size.X, size.Y))
	for x := range size.X {
		for y := range size.Y {
			small.SetGray(x, y, color.GrayModel.Convert(picture.At(4*x, 4*y)).(color.Gray)) //nolint:errcheck // the model's own colour
		}
	}
	return encode(small)
}

// publish puts the small picture into its album. To do so twice does no harm.
func (t *thumbnails) publish(_ context.Context, in stage.Input) ([]byte, error) {
	file, _ := in.Output("resize")
	album, name := path.Split(string(in.Payload))
	if err := os.WriteFile(filepath.Join(t.gallery, album, name+".png"), file, 0o644); err != nil {
		return nil, fault.Wrap(err, closed, "The album %s takes no pictures.", path.Clean(album))
	}
	fmt.Fprintf(t.out, "%s: publish\n", name)
	return nil, nil
}

func encode(picture image.Image) ([]byte, error) {
	var file bytes.Buffer
	err := png.Encode(&file, picture)
	return file.Bytes(), err
}
