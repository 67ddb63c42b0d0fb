package reference

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"strings"
	"sync"

	"github.com/recoup-dev/recoup/server/internal/webfile"
)

//go:embed static
var static embed.FS

// assets are the files that pages refer to. The name of a file changes with its content, so
// that a browser may keep it for ever.
var assets = sync.OnceValue(func() map[string]*webfile.File {
	list := map[string]*webfile.File{}
	for name, media := range map[string]string{"reference.css": "text/css; charset=utf-8", "reference.js": "text/javascript; charset=utf-8"} {
		data, err := static.ReadFile("static/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		list[hashed(name, data)] = webfile.New(media, webfile.Immutable, data)
	}
	return list
})

func hashed(name string, data []byte) string {
	sum := sha256.Sum256(data)
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
}

// Find returns the asset of a name with its hash.
func Find(name string) (*webfile.File, bool) {
	a, ok := assets()[name]
	return a, ok
}

// asset returns the name with the hash of a file.
func asset(name string) string {
	for full := range assets() {
		if strings.HasPrefix(full, strings.TrimSuffix(name, path.Ext(name))+"-") && path.Ext(full) == path.Ext(name) {
			return full
		}
	}
	return ""
}
