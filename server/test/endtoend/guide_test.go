package endtoend

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/test/program"
)

const (
	root        = "../../.."
	guides      = "docs/guides/"
	firstPolicy = "first-policy.md"
)

// TestGuides runs every guide but the first, which has a test of its own, and looks that
// the index has them all.
func TestGuides(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, guides, "*.md"))
	if err != nil || len(pages) < 2 {
		t.Fatalf("the guides are %v: %v", pages, err)
	}
	index, err := os.ReadFile(filepath.Join(root, guides, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name == "README.md" {
			continue
		}
		if !strings.Contains(string(index), "("+name+")") {
			t.Errorf("the index has no link to %s", name)
		}
		if name == firstPolicy {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readGuide(t, guides+name).run(t, "sqlite:recoup.db")
		})
	}
}

// TestFirstPolicyGuide goes from a clean clone to a failure of an own table with an own
// code that is retried, parked, notified and promoted, on both stores, in as few commands
// as the guide says.
func TestFirstPolicyGuide(t *testing.T) {
	g := readGuide(t, guides+firstPolicy)
	if n := len(g.commands); n > 12 {
		t.Errorf("the guide has %d commands: %q", n, g.commands)
	}
	if g.commands[0] != "make build" {
		t.Errorf("it begins with %q", g.commands[0])
	}
	onEither(t, func(t *testing.T, d database) { g.run(t, d.Nodes) })
}

// TestExamplesOfOtherDomains runs the programs that have tables and codes of their own, as
// their pages say.
func TestExamplesOfOtherDomains(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"payments", "images"} {
		t.Run(name, func(t *testing.T) {
			g := readGuide(t, "examples/"+name+"/README.md")
			onEither(t, func(t *testing.T, d database) { g.run(t, d.Nodes) })
		})
	}
}

// guide is a page whose blocks are run in order: bash as it stands, and a block with the
// name of a file behind its language becomes that file. A block of text is what the
// commands since the last one print, line by line and in order, with … for what differs
// from run to run; other lines may come between.
type guide struct {
	script   strings.Builder
	commands []string
	shown    []string
}

var (
	fence  = regexp.MustCompile("(?s)\n```(\\w+)(?: (\\S+))?\n(.*?\n)```\n")
	spaces = regexp.MustCompile(` +`)
	// command is one at the top level of a script, with all its lines.
	command = regexp.MustCompile(`(?m)^[^\s#})](?:.*\\\n)*.*$`)
)

const mark = "\036" // between what is printed before and after a block of text

func readGuide(t *testing.T, file string) *guide {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{}
	for _, block := range fence.FindAllStringSubmatch(string(page), -1) {
		language, file, text := block[1], block[2], block[3]
		switch {
		case file != "":
			fmt.Fprintf(&g.script, "mkdir -p %s\ncat > %s <<'END OF FILE'\n%sEND OF FILE\n", filepath.Dir(file), file, text)
		case language == "bash":
			g.script.WriteString(text)
			g.commands = append(g.commands, command.FindAllString(text, -1)...)
		case language == "text":
			fmt.Fprintf(&g.script, "printf '%s\\n'\n", mark)
			g.shown = append(g.shown, text)
		default:
			t.Errorf("nobody knows what to do with a block of %s: it needs the name of a file", language)
		}
	}
	if len(g.commands) == 0 || len(g.shown) == 0 {
		t.Fatal("the guide has nothing to run, or shows nothing of what comes of it")
	}
	return g
}

// surroundings are what a page expects beside a clone: pairs of a place that it names and the test's
// own, and commands before and after it.
type surroundings struct {
	database   string
	begin, end string
	places     []string
}

// run runs the guide in a clone of its own.
func (g *guide) run(t *testing.T, database string) {
	t.Helper()
	g.runIn(t, clone(t), surroundings{database: database})
}

// runIn runs the guide in a folder and compares what is printed with what it shows. Where it says
// 8080 and 8089 are ports that nobody uses.
func (g *guide) runIn(t *testing.T, folder string, around surroundings) {
	t.Helper()
	address := freeAddress(t)
	here := strings.NewReplacer(append(around.places, "127.0.0.1:8080", address, "8089", freeAddress(t)[len("127.0.0.1:"):])...)
	script := "exec 2>&1\n" + around.begin + here.Replace(g.script.String()) + around.end + "\nif [[ $(jobs -p) ]]; then kill $(jobs -p); wait; fi"
	said := runBash(t, folder, script, "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"),
		"RECOUP_DATABASE="+around.database, "RECOUP_LISTEN="+address, "RECOUP_LOG_LEVEL=error", "COLUMNS=120", "PYTHONDONTWRITEBYTECODE=1") // a log would come in between
	for i, printed := range strings.Split(said, mark)[:len(g.shown)] {
		for want := range strings.Lines(here.Replace(g.shown[i])) {
			if printed = after(printed, strings.TrimSpace(want)); printed == "" {
				t.Fatalf("%q does not come when it should in\n%s", want, said)
			}
		}
	}
}

// after returns what follows the first line that is as wanted, and at least a line break
// if there is one.
func after(printed, want string) string {
	form := regexp.QuoteMeta(spaces.ReplaceAllString(want, " "))
	form = strings.ReplaceAll(strings.ReplaceAll(form, "…", ".*"), " ", " +")
	found := regexp.MustCompile(`(?m)^ *` + form + ` *$`).FindStringIndex(printed)
	if found == nil {
		return ""
	}
	return printed[found[1]:] + "\n"
}

// clone is a folder with all that a clone has, and the program as make build leaves it.
func clone(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	source, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".git" || e.Name() == "bin" || strings.HasPrefix(e.Name(), "recoup.db") {
			continue
		}
		if err := os.Symlink(filepath.Join(source, e.Name()), filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program.Path(t), filepath.Join(folder, "bin", "recoup")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// runBash runs a script, which must end well and leave nothing behind, and returns what
// it prints.
func runBash(t *testing.T, folder, script string, env ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute) // a loop may wait for what never comes
	defer stop()
	bash := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	bash.Dir = folder
	bash.Env = append(os.Environ(), env...)
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	bash.WaitDelay = time.Second // for a node that it left behind
	var said, log text
	bash.Stdout, bash.Stderr = &said, &log
	if err := bash.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }() // and that node
	if err := bash.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &said, &log)
	}
	return said.String()
}
