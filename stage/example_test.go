package stage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/stage"
)

// A pipeline that fails in its second stage, and goes on there once the cause is
// gone: the first stage does not run again.
func Example() {
	denied := true
	pipeline := stage.Pipeline{Name: "criticizer", Stages: []stage.Stage{
		{Name: "fetch", Run: func(context.Context, stage.Input) ([]byte, error) {
			fmt.Println("fetching")
			return []byte("a page"), nil
		}},
		{Name: "llm", Run: func(_ context.Context, in stage.Input) ([]byte, error) {
			if denied {
				return nil, fault.New(fault.CodeInvalidAPIKey, "The model does not know this key.")
			}
			page, _ := in.Output("fetch")
			return append([]byte("a critique of "), page...), nil
		}},
	}}
	runner, err := stage.New(pipeline, stage.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	work := stage.Work{ID: recoup.ID{1}, Payload: []byte("https://example.com")}

	_, err = runner.Run(context.Background(), work)
	var dead *recoup.StageFailure
	if errors.As(err, &dead) {
		fmt.Println(dead)
	}

	denied = false
	result, err := runner.Run(context.Background(), work)
	fmt.Println(string(result.Output), err)
	// Output:
	// fetching
	// stage llm of criticizer cannot be retried: INVALID_API_KEY
	// a critique of a page <nil>
}
