package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
)

// document is a list of components in the form of CycloneDX 1.5.
type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Kind    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// foreign returns the modules of others that a binary was linked from. Recoup's own modules are
// below the path of the SDK. The main module is the server or, of recoup-bench, its module of tests.
func foreign(build *debug.BuildInfo) (modules []*debug.Module) {
	own := path.Dir(strings.TrimSuffix(build.Main.Path, "/test"))
	for _, m := range build.Deps {
		if build.Main.Path != "" && (m.Path == own || strings.HasPrefix(m.Path, own+"/")) {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, m)
	}
	return modules
}

// components lists the modules that a binary was linked from, and the Go that did it.
func components(build *debug.BuildInfo, version string) document {
	d := document{Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata: metadata{component{Kind: "application", Ref: "recoup@" + version, Name: "recoup", Version: version}}}
	standard := strings.TrimPrefix(build.GoVersion, "go")
	d.Components = append(d.Components, component{Kind: "library", Ref: "std@" + standard, Name: "std", Version: standard, PURL: "pkg:golang/std@" + standard})
	for _, m := range foreign(build) {
		c := component{Kind: "library", Ref: m.Path + "@" + m.Version, Name: m.Path, Version: m.Version,
			PURL: fmt.Sprintf("pkg:golang/%s@%s", m.Path, url.PathEscape(m.Version))}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
		}
		d.Components = append(d.Components, c)
	}
	return d
}
