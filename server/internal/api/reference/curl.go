package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// curl writes a call as a command that can be pasted where RECOUP_KEY has a key.
func curl(o *Operation, op *operation) string {
	target := o.Path
	query := url.Values{}
	for _, p := range op.Parameters {
		if p.Example == nil {
			continue
		}
		value := fmt.Sprint(p.Example)
		switch p.In {
		case "path":
			target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(value))
		case "query":
			query.Set(p.Name, value)
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body json.RawMessage
	if op.RequestBody != nil {
		body = op.RequestBody.Content["application/json"].Example
	}
	command := "curl "
	if o.Method != "GET" && (o.Method != "POST" || body == nil) { // which --json implies
		command += "-X " + o.Method + " "
	}
	command += quoted(Server + target)
	if len(o.Roles) > 0 {
		command += " \\\n  -H \"Authorization: Bearer $RECOUP_KEY\""
	}
	if body != nil {
		command += " \\\n  --json " + apostrophed(laid(body))
	}
	return command
}

// short is how long a body may be that is written on one line.
const short = 60

// laid is a body on one line if it is short, else indented.
func laid(body json.RawMessage) string {
	var line bytes.Buffer
	if json.Compact(&line, body) == nil && line.Len() <= short {
		return line.String()
	}
	return indented(body, "  ")
}

// quoted quotes what a shell would take apart.
func quoted(s string) string {
	if strings.ContainsAny(s, "?&{}'\"$ ") {
		return apostrophed(s)
	}
	return s
}

func apostrophed(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
