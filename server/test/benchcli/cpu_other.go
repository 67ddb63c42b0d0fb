//go:build !unix

package benchcli

import "time"

// cpu is not known here.
func cpu() time.Duration { return 0 }
