package pgtest

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// programs of PostgreSQL that a server needs.
type programs struct{ initdb, postgres string }

// binVariable names the folder of another PostgreSQL's programs: so the same tests
// run on every major version (make postgres-matrix).
const binVariable = "RECOUP_POSTGRES_BIN"

// findPrograms looks for PostgreSQL, and says how to install it if it is not there. A
// version that was asked for is never replaced by another.
func findPrograms() (programs, error) {
	if folder := os.Getenv(binVariable); folder != "" {
		found := in(folder)
		if !tool.Executable(found.initdb) || !tool.Executable(found.postgres) {
			return programs{}, fmt.Errorf("pgtest: %s is %s, which has no initdb and postgres", binVariable, folder)
		}
		return found, nil
	}
	if found, ok := lookPrograms(); ok {
		return found, nil
	}
	return programs{}, fmt.Errorf("pgtest: %w", &tool.MissingError{Name: "initdb", Hint: "name the folder of initdb and postgres in " + binVariable})
}

// lookPrograms looks in PATH, then for the newest version that Debian has put
// beside it.
func lookPrograms() (programs, bool) {
	initdb, err := tool.Path("initdb")
	if err == nil {
		if server, err := tool.Path("postgres"); err == nil {
			return programs{initdb, server}, true
		}
	}
	for _, folder := range debianFolders() {
		if p := in(folder); tool.Executable(p.initdb) && tool.Executable(p.postgres) {
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
	if tool.Executable(own) {
		return own, nil
	}
	for _, folder := range debianFolders() {
		if other := filepath.Join(folder, name); tool.Executable(other) {
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
