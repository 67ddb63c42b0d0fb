package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/recoup-dev/recoup/server/internal/webfile"
)

//go:embed static/*.css static/*.js
var static embed.FS

// files are what pages load, by a name that changes with its content.
var files = sync.OnceValue(func() map[string][]byte {
	found := map[string][]byte{}
	list, err := static.ReadDir("static")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, f := range list {
		data, err := static.ReadFile("static/" + f.Name())
		if err != nil {
			panic(err)
		}
		found[hashed(f.Name(), data)] = data
	}
	return found
})

// names are those names, by what the files are called here.
var names = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for full, data := range files() {
		ext := path.Ext(full)
		found[strings.TrimSuffix(full, "-"+sum(data)+ext)+ext] = full
	}
	return found
})

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:6])
}

func hashed(name string, data []byte) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + sum(data) + ext
}

// asset is the address of a file, below the console.
func asset(name string) string { return "static/" + names()[name] }

func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request) {
	leave, err := c.Limit.Admit(r, false)
	if err != nil {
		refuse(w, err)
		return
	}
	file, ok := served()[r.PathValue("file")]
	leave()
	if !ok {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	file.Serve(w, r)
}

// served are the files as they are served.
var served = sync.OnceValue(func() map[string]*webfile.File {
	list := map[string]*webfile.File{}
	for name, data := range files() {
		media := "text/css; charset=utf-8"
		if path.Ext(name) == ".js" {
			media = "text/javascript; charset=utf-8"
		}
		list[name] = webfile.New(media, webfile.Immutable, data)
	}
	return list
})
