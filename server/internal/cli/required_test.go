package cli_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

var (
	codeSpan    = regexp.MustCompile("`[^`]+`")
	codeLine    = regexp.MustCompile(`(?m)^(?: {4,}|\t)?(?:\$ |bin/|\./|sudo |.*&& |.*\$\()?recoup .*$`)
	quotedWords = regexp.MustCompile(`'(recoup [^'\n]+)'`)
	orderedTo   = regexp.MustCompile(`\b[Rr]un ('?recoup [^';,.:\n]+)`)
	spoken      = regexp.MustCompile(`\brecoup ((?:"[^"\n]*"|[^"'` + "`" + `\n;|#)])*)`)
)

// Commands in documents, examples and hints have every flag without which they are refused. A
// command that is only named, without arguments, is left out.
func TestDocumentedCommandsHaveRequiredFlags(t *testing.T) {
	t.Parallel()
	root := cli.Root(command.Streams{In: new(bytes.Buffer), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
	seen := 0
	for place, texts := range commandTexts(t) {
		for _, text := range texts {
			for _, found := range spoken.FindAllStringSubmatch(text, -1) {
				seen++
				if missing := missingFlags(root, found[1]); len(missing) > 0 {
					t.Errorf("%s: 'recoup %s' lacks %s", place, strings.TrimSpace(found[1]), strings.Join(missing, ", "))
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d commands were found: the patterns no longer fit", seen)
	}
}

// missingFlags are the required flags that a command line lacks.
func missingFlags(root *cobra.Command, line string) (missing []string) {
	cmd, words := root, strings.Fields(line)
	for len(words) > 0 {
		next, _, err := cmd.Find(words[:1])
		if err != nil || next == cmd {
			break
		}
		cmd, words = next, words[1:]
	}
	if len(words) == 0 || cmd == root || strings.ContainsAny(line, "…[") || strings.Contains(line, "--help") || strings.Contains(line, "--dry-run") || strings.Contains(line, "...") {
		return nil
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Usage, "; required") && !strings.Contains(line, "--"+f.Name) {
			missing = append(missing, "--"+f.Name)
		}
	})
	return missing
}

// commandTexts are the pieces of documents and of the program's own texts that hold commands.
func commandTexts(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "dist" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md") && d.Name() != "CHANGELOG.md":
			text, err := os.ReadFile(path)
			all[path] = commandsOf(strings.ReplaceAll(string(text), "\\\n", " "))
			return err
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			all[path] = literalCommands(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// commandsOf returns the code of a Markdown page: lines of blocks, and spans, which may be broken.
func commandsOf(page string) []string {
	list := codeLine.FindAllString(page, -1)
	for _, span := range codeSpan.FindAllString(page, -1) {
		if strings.Count(span, "\n") < 2 {
			list = append(list, strings.ReplaceAll(span, "\n", " "))
		}
	}
	return list
}

// literalCommands returns the commands in the literals of a Go file: quoted, to be run, or examples.
func literalCommands(t *testing.T, path string) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "\\\n", " ")
		for _, found := range quotedWords.FindAllStringSubmatch(text, -1) {
			list = append(list, found[1])
		}
		for _, found := range orderedTo.FindAllStringSubmatch(text, -1) {
			list = append(list, found[1]+" .") // no mere name
		}
		if strings.HasPrefix(text, "  recoup ") || strings.HasPrefix(text, "recoup ") {
			for _, line := range strings.Split(text, "\n") {
				if !strings.HasSuffix(line, " ") { // it goes on in another literal
					list = append(list, line)
				}
			}
		}
		return true
	})
	return list
}
