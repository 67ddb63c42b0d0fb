package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// programs of PostgreSQL that a server needs.
type programs struct{ initdb, postgres string }

// binVariable names the folder of another PostgreSQL's programs: so the same tests
// run on every major version (make postgres-matrix).
const binVariable = "RECOUP_POSTGRES_BIN"

// findPrograms looks for PostgreSQL, and installs it if it is not there. A version
// that was asked for is never replaced by another.
func findPrograms() (programs, error) {
	if folder := os.Getenv(binVariable); folder != "" {
		found := in(folder)
		if !executable(found.initdb) || !executable(found.postgres) {
			return programs{}, fmt.Errorf("pgtest: %s is %s, which has no initdb and postgres", binVariable, folder)
		}
		return found, nil
	}
	if found, ok := lookPrograms(); ok {
		return found, nil
	}
	if err := install("postgresql"); err != nil {
		return programs{}, err
	}
	found, ok := lookPrograms()
	if !ok {
		return programs{}, fmt.Errorf("pgtest: PostgreSQL was installed, but initdb and postgres are neither in PATH nor in /usr/lib/postgresql/*/bin")
	}
	return found, nil
}

// lookPrograms looks in PATH, then for the newest version that Debian has put
// beside it.
func lookPrograms() (programs, bool) {
	initdb, err := exec.LookPath("initdb")
	if err == nil {
		if server, err := exec.LookPath("postgres"); err == nil {
			return programs{initdb, server}, true
		}
	}
	for _, folder := range debianFolders() {
		if p := in(folder); executable(p.initdb) && executable(p.postgres) {
			return p, true
		}
	}
	return programs{}, false
}

// beside returns another program of the same version, or, because some packages have no
// more than a server, the newest that Debian has: it serves all older servers.
func (p programs) beside(name string) (string, error) {
	server, err := filepath.EvalSymlinks(p.postgres)
	if err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	own := filepath.Join(filepath.Dir(server), name)
	if executable(own) {
		return own, nil
	}
	for _, folder := range debianFolders() {
		if other := filepath.Join(folder, name); executable(other) {
			return other, nil
		}
	}
	return "", fmt.Errorf("pgtest: there is no %s beside %s", name, server)
}

// in names the programs of a folder.
func in(folder string) programs {
	return programs{filepath.Join(folder, "initdb"), filepath.Join(folder, "postgres")}
}

// debianFolders are where Debian puts programs, the newest version first.
func debianFolders() []string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(folders, func(a, b string) int { return major(b) - major(a) })
	return folders
}

func major(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// install asks Debian's packager. Other test processes may do the same at this
// moment: it waits for its turn.
func install(name string) error {
	args := []string{"apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-y", name}
	if os.Geteuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: these tests need Debian's package %s, or its programs in PATH, and installing it failed: %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// credential returns whom the server runs as. PostgreSQL refuses to run as
// root, so root lends it to another user.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("pgtest: PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}
