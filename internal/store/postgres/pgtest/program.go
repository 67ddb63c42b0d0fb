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

// findPrograms looks for PostgreSQL, and installs it if it is not there.
func findPrograms() (programs, error) {
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
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(folders, func(a, b string) int { return major(b) - major(a) })
	for _, folder := range folders {
		p := programs{filepath.Join(folder, "initdb"), filepath.Join(folder, "postgres")}
		if executable(p.initdb) && executable(p.postgres) {
			return p, true
		}
	}
	return programs{}, false
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
