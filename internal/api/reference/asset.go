package reference

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"strings"
	"sync"
)

//go:embed static
var static embed.FS

// Asset is a file that pages refer to. Its name changes with its content, so that it may
// be kept for ever.
type Asset struct {
	Media string
	Data  []byte
}

var assets = sync.OnceValue(func() map[string]Asset {
	list := map[string]Asset{}
	for name, media := range map[string]string{"reference.css": "text/css; charset=utf-8", "reference.js": "text/javascript; charset=utf-8"} {
		data, err := static.ReadFile("static/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		list[hashed(name, data)] = Asset{media, data}
	}
	return list
})

func hashed(name string, data []byte) string {
	sum := sha256.Sum256(data)
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
}

// Find returns the asset of a name with its hash.
func Find(name string) (Asset, bool) {
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
