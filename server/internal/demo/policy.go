package demo

import (
	"bytes"

	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// pager is a channel that does not answer: nobody listens on that port.
const pager = "ops-pager"

// Policy is the default policy with a second channel, for pages.
func Policy() []byte {
	const all = "    - {channel: log}\n"
	return bytes.Replace(policy.DefaultFile(), []byte(all), []byte(all+"    - {channel: "+pager+", from: PAGE}\n"), 1)
}

// Channel is the channel that the policy names.
func Channel() notify.Config {
	return notify.Config{Name: pager, Kind: notify.Webhook, Values: map[string]string{
		"url": "http://127.0.0.1:9/page", "secret": "of-a-demo-that-nobody-hears", "public-only": "false",
	}}
}
