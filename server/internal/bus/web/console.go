package web

import (
	"embed"
	"io/fs"

	"github.com/recoup-dev/recoup/server/internal/console"
)

//go:embed template/*.html
var embedded embed.FS

// Section is what the bus has in the console: a panel of the page of the platform.
func Section() console.Section {
	dir, err := fs.Sub(embedded, "template")
	if err != nil {
		panic(err) // it is part of the program
	}
	return console.Section{Templates: dir, Panels: []console.Panel{{Page: "admin", Name: "bus", View: view}}}
}

func view(r *console.Request) (any, error) { return Calls{r.Client()}.Status(r.Context()) }
