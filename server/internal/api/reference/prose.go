package reference

import (
	"html/template"
	"strings"
)

// prose renders a description: paragraphs are apart by an empty line, and what stands
// between backticks is code. Everything else is text.
func prose(text string) template.HTML {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph == "" {
			continue
		}
		out.WriteString("<p>")
		for i, part := range strings.Split(paragraph, "`") {
			escaped := template.HTMLEscapeString(part)
			if i%2 == 1 {
				escaped = "<code>" + escaped + "</code>"
			}
			out.WriteString(escaped)
		}
		out.WriteString("</p>")
	}
	return template.HTML(out.String()) //nolint:gosec // every part was escaped
}
