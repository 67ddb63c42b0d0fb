package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// module is a Go module as it is published: its path and the files of its zip by their names.
type module struct {
	path  string
	files map[string][]byte
}

// readModule reads the module in a folder of the tree: the files that git lists, without the
// modules below it.
func readModule(tree, folder string) (module, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = filepath.Join(tree, folder)
	out, err := list.Output()
	if err != nil {
		return module{}, fmt.Errorf("git ls-files in %s: %w", list.Dir, err)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var below []string
	for _, name := range names {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			below = append(below, path.Dir(name)+"/")
		}
	}
	m := module{files: map[string][]byte{}}
	for _, name := range names {
		if slices.ContainsFunc(below, func(folder string) bool { return strings.HasPrefix(name, folder) }) {
			continue
		}
		if err := m.add(filepath.Join(tree, folder, name), name); err != nil {
			return module{}, err
		}
	}
	if _, own := m.files["LICENSE"]; !own { // as the go command does for a module in a folder
		if err := m.add(filepath.Join(tree, "LICENSE"), "LICENSE"); err != nil {
			return module{}, err
		}
	}
	m.path, err = modulePath(m.files["go.mod"])
	return m, err
}

// add reads a file. What is deleted and not committed, and what is no regular file, is left out.
func (m module) add(file, name string) error {
	info, err := os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err == nil {
		m.files[name], err = os.ReadFile(file)
	}
	return err
}

func modulePath(gomod []byte) (string, error) {
	for line := range strings.Lines(string(gomod)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return name, nil
		}
	}
	return "", errors.New("go.mod names no module")
}

// require makes the module require another one as it is published: without a replacement, by
// its version, and with its checksums in go.sum.
func (m module) require(other module, version string) error {
	gomod, err := editGoMod(m.files["go.mod"], "-dropreplace="+other.path, "-require="+other.path+"@"+version)
	if err != nil {
		return err
	}
	sums := slices.Collect(strings.Lines(string(m.files["go.sum"])))
	sums = slices.DeleteFunc(sums, func(line string) bool { return strings.HasPrefix(line, other.path+" ") })
	at := slices.IndexFunc(sums, func(line string) bool { return line > other.path+" " })
	if at < 0 {
		at = len(sums)
	}
	own := module{files: map[string][]byte{"go.mod": other.files["go.mod"]}}
	sums = slices.Insert(sums, at,
		fmt.Sprintf("%s %s %s\n", other.path, version, other.checksum(other.path+"@"+version+"/")),
		fmt.Sprintf("%s %s/go.mod %s\n", other.path, version, own.checksum("")))
	m.files["go.mod"], m.files["go.sum"] = gomod, []byte(strings.Join(sums, ""))
	return nil
}

// replaced returns the modules that go.mod replaces.
func (m module) replaced() (paths []string, err error) {
	out, err := editGoMod(m.files["go.mod"], "-json")
	if err != nil {
		return nil, err
	}
	var file struct {
		Replace []struct{ Old struct{ Path string } }
	}
	err = json.Unmarshal(out, &file)
	for _, r := range file.Replace {
		paths = append(paths, r.Old.Path)
	}
	return paths, err
}

// editGoMod runs go mod edit and returns what it makes of a go.mod file.
func editGoMod(gomod []byte, flags ...string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "recoup-release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "go.mod")
	if err := os.WriteFile(file, gomod, 0o600); err != nil {
		return nil, err
	}
	var out, log bytes.Buffer
	edit := exec.Command("go", slices.Concat([]string{"mod", "edit"}, flags, []string{file})...)
	edit.Stdout, edit.Stderr = &out, &log
	if err := edit.Run(); err != nil {
		return nil, fmt.Errorf("go mod edit: %w: %s", err, &log)
	}
	if out.Len() > 0 {
		return out.Bytes(), nil
	}
	return os.ReadFile(file)
}

// checksum is what go.sum has of files whose names begin with a prefix: "h1:" and a digest of
// their digests.
func (m module) checksum(prefix string) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(m.files[name]), prefix+name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(all.Sum(nil))
}

// archive is the module's zip.
func (m module) archive(version string) ([]byte, error) {
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		file, err := to.Create(m.path + "@" + version + "/" + name)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(m.files[name]); err != nil {
			return nil, err
		}
	}
	err := to.Close()
	return b.Bytes(), err
}

// publishedModules reads the modules that a release publishes as they are then: the SDK, and the
// server that requires it.
func publishedModules(tree, version string) (sdk, server module, err error) {
	if sdk, err = readModule(tree, "."); err != nil {
		return sdk, server, err
	}
	if server, err = readModule(tree, "server"); err != nil {
		return sdk, server, err
	}
	if err := server.require(sdk, version); err != nil {
		return sdk, server, err
	}
	for _, m := range []module{sdk, server} {
		left, err := m.replaced()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%s replaces %s: go install of a version refuses that", m.path, strings.Join(left, ", "))
		}
		if err != nil {
			return sdk, server, err
		}
	}
	return sdk, server, nil
}

// prepareRelease writes go.mod and go.sum of the server as they are published.
func prepareRelease(tree, version string) error {
	_, server, err := publishedModules(tree, version)
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := os.WriteFile(filepath.Join(tree, "server", name), server.files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// escaped is a module's path in a proxy, whose folders may be on a disk that folds case.
func escaped(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// writeProxy writes a module proxy for GOPROXY=file://FOLDER that has the published modules at
// a version.
func writeProxy(tree, folder, version string) error {
	sdk, server, err := publishedModules(tree, version)
	if err != nil {
		return err
	}
	for _, m := range []module{sdk, server} {
		at := filepath.Join(folder, escaped(m.path), "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		archive, err := m.archive(version)
		if err != nil {
			return err
		}
		info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Unix(0, 0).UTC()})
		if err != nil {
			return err
		}
		for name, content := range map[string][]byte{
			"list": []byte(version + "\n"), version + ".info": info, version + ".mod": m.files["go.mod"], version + ".zip": archive,
		} {
			if err := os.WriteFile(filepath.Join(at, name), content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
