package redacttest

import "encoding/json"

// Contexts are the places where a text turns up.
func Contexts() map[string]func(string) string {
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	return map[string]func(string) string{
		"alone": func(s string) string { return s },
		"log line": func(s string) string {
			return "2024-08-28T10:15:30.123Z ERROR dol: upstream refused " + s + " after 3 tries"
		},
		"json":         func(s string) string { return `{"level":"error","count":3,"message":` + quoted(s) + `,"ok":false}` },
		"json in json": func(s string) string { return `{"body":` + quoted(`{"message":`+quoted(s)+`,"n":1}`) + `}` },
		"url":          func(s string) string { return "GET https://api.example.org/v1/x?page=2&q=" + s + "&sort=asc HTTP/1.1" },
		"key=value":    func(s string) string { return "level=error status=502 upstream=" + s + " dur=31ms" },
		"path":         func(s string) string { return "open /srv/data/" + s + "/part-0001: no such file" },
		"brackets":     func(s string) string { return "rejected (" + s + "), [" + s + "]: see the log." },
		"stack": func(s string) string {
			return "panic: " + s + "\n\ngoroutine 1 [running]:\nmain.fetch(" + quoted(s) + ")\n\t/srv/app/main.go:23 +0x1d\nmain.main()\n\t/srv/app/main.go:11 +0x65\n"
		},
		"escaped stack": func(s string) string { return `trace="panic: x\n` + s + `\nmain.main()\n\t/srv/app/main.go:11"` },
	}
}
