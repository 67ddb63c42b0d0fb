package recoup_test

import (
	"fmt"

	"github.com/recoup-dev/recoup"
)

func ExampleServiceRate_Share() {
	fmt.Println(recoup.ServiceRate{Retryable: 1, Total: 3}.Share(), recoup.ServiceRate{}.Share())
	// Output: 33.33 0
}
