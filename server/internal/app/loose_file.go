package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/doctor"
)

// The permissions that a file with secrets must not give, and what takes them away. The
// group of a configuration file is often that of the service, which has to read it.
const (
	forOthers fs.FileMode = 0o007
	forGroup  fs.FileMode = 0o077
)

// findLoose lists the files with secrets that more users can read than should: the
// configuration, if it has secrets, and those that settings name.
func (o *Options) findLoose(file string, values config.Values) {
	o.LooseFiles = nil
	if values.HasSecrets(file) {
		o.addLoose(file, forOthers)
	}
	o.addLoose(o.masterKeyFile, forGroup)
	for _, file := range append([]string{o.TLSKey}, values.SecretFiles()...) {
		o.addLoose(file, forOthers)
	}
}

// addLoose adds a file that has one of the permissions. Links are followed. A file that
// Kubernetes or Docker mounts as a secret is left out: the platform sets its mode, and no
// other user is in the container.
func (o *Options) addLoose(file string, mode fs.FileMode) {
	if file == "" || runtime.GOOS == "windows" {
		return
	}
	at, err := filepath.EvalSymlinks(file)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err != nil || mounted(at) {
		return
	}
	info, err := os.Stat(at)
	if err != nil || info.Mode().Perm()&mode == 0 {
		return
	}
	fix := "o="
	if mode == forGroup {
		fix = "600"
	}
	o.LooseFiles = append(o.LooseFiles, doctor.LooseFile{Path: at, Mode: fix})
}

// kubernetes is the folder in which Kubernetes mounts a secret: ..2026_02_05_09_00_00.123456789.
var kubernetes = regexp.MustCompile(`/\.\.\d{4}(_\d\d){5}\.\d+/`)

// mounted reports whether an absolute path without links is that of a secret of Kubernetes or Docker.
func mounted(path string) bool {
	return strings.HasPrefix(path, "/run/secrets/") || kubernetes.MatchString(filepath.ToSlash(path))
}

// warnLoose logs the files that others can read, once.
func (n *Node) warnLoose() {
	if len(n.o.LooseFiles) == 0 {
		return
	}
	var fixes []string
	for _, f := range n.o.LooseFiles {
		fixes = append(fixes, "chmod "+f.Mode+" "+f.Path)
	}
	n.o.Logger.Warn("other users can read files with secrets", "fix", strings.Join(fixes, "; "))
}
