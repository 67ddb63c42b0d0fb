package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Bounds of Slack's blocks: a header of 150 characters, a section of 3,000. Bytes
// are never fewer than characters.
const (
	slackHeader  = 150
	slackSection = 3000
	slackLines   = 20
)

// slack sends to an incoming webhook.
type slack struct{ *poster }

type slackMessage struct {
	Text   string       `json:"text"` // for screens that show no blocks
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Send posts one message for all items. Slack has no way to say that it has the
// message already: one that is sent again is shown again.
func (s *slack) Send(ctx context.Context, m *Message) error {
	body, err := json.Marshal(formatSlack(m))
	if err != nil {
		return unwritable()
	}
	said, err := s.post(ctx, body, nil)
	if err != nil {
		return explainSlack(failureOf(err), said)
	}
	return nil
}

var slackWord = regexp.MustCompile(`^[a-z_]{1,40}$`)

// explainSlack adds Slack's own word for what is wrong, if it is one.
func explainSlack(f *Failure, said []byte) *Failure {
	if word := strings.TrimSpace(string(said)); slackWord.MatchString(word) {
		f.Reason += ": " + word
	}
	return f
}

// escapeSlack keeps a text from being a link, a mention or anything else but text.
var escapeSlack = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func formatSlack(m *Message) slackMessage {
	heading := m.Title
	if m.Test {
		heading = "Test: " + heading
	}
	lines, more := m.lines(slackLines)
	var b strings.Builder
	for _, l := range lines {
		said := slackLine(l)
		if b.Len()+len(said) > slackSection-100 {
			more += l.count
			continue
		}
		b.WriteString(said)
	}
	if more > 0 {
		fmt.Fprintf(&b, "and %d more", more)
	}
	blocks := []slackBlock{{Type: "header", Text: &slackText{"plain_text", short(heading, slackHeader)}}}
	if b.Len() > 0 {
		blocks = append(blocks, slackBlock{Type: "section", Text: &slackText{"mrkdwn", b.String()}})
	}
	about := fmt.Sprintf("%s · %s · to %s · %s", m.Urgency, m.Kind, m.To, m.ID)
	blocks = append(blocks, slackBlock{Type: "context", Elements: []slackText{{"mrkdwn", escapeSlack.Replace(about)}}})
	return slackMessage{Text: escapeSlack.Replace(heading), Blocks: blocks}
}

func slackLine(l line) string {
	text := "• " + escapeSlack.Replace(l.String())
	for _, link := range l.links {
		text += " <" + escapeSlack.Replace(link) + "|open>"
	}
	return text + "\n"
}
