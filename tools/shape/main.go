// Command shape prints figures about the structure of the tree: lines by module and slice, the
// folders and core files that mention Gate Zero, and what one reported error passes through.
//
//	shape -coverage base.out,reports.out -reports 40
//
// scripts/shape runs it with coverage of one test without reports and with reports. A file is on
// the way of a report if some of its statements ran at least once more for each report. A shape
// is a struct type of the tree that carries a report on this way: it is a parameter, a result,
// a receiver or a variable of a function on the way, and holds the code of the report directly
// or in a field.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// slices of the product: the folders that each has for itself.
var productSlices = []struct {
	name    string
	folders []string
}{
	{"gatezero", []string{"server/internal/gatezero"}},
	{"adoption", []string{"server/internal/adoption"}},
	{"archive", []string{"server/internal/archive"}},
	{"bus", []string{"server/internal/bus"}},
}

// notProduct are the folders of tests, tools and examples.
var notProduct = regexp.MustCompile(`(^|/)(testdata|test|tools|examples|node_modules|\.[a-z]+|[a-z0-9]+test)/`)

// mentions finds what belongs to Gate Zero.
var mentions = regexp.MustCompile(`(?i)gate.?zero|intake|kill.?switch`)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("shape", flag.ContinueOnError)
	coverage := flags.String("coverage", "", "two coverage profiles, separated by a comma: without reports and with")
	reports := flags.Int("reports", 40, "how many more reports the second has")
	verbose := flags.Bool("v", false, "list the files and shapes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	files, err := goFiles(".")
	if err != nil {
		return err
	}
	printLines(out, files)
	printGateZero(out, files, *verbose)
	if *coverage == "" {
		return nil
	}
	base, with, _ := strings.Cut(*coverage, ",")
	way, err := executed(base, with, *reports)
	if err != nil {
		return err
	}
	shapes, err := shapesOf(way)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\na report\n%8d files\n%8d shapes\n", len(way), len(shapes))
	if *verbose {
		names := make([]string, 0, len(way))
		for name := range way {
			names = append(names, name)
		}
		slices.Sort(names)
		printAll(out, names)
		printAll(out, shapes)
	}
	return nil
}

// file is a Go file of the product.
type file struct {
	path  string
	lines int
	text  string
}

// goFiles reads the Go files of the product below a folder. Tests and generated files do not count.
func goFiles(root string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		if entry.IsDir() {
			if path != "." && notProduct.MatchString(path+"/") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || generated.Match(text) {
			return err
		}
		files = append(files, file{path: path, lines: strings.Count(string(text), "\n"), text: string(text)})
		return nil
	})
	return files, err
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// sliceOf names the slice that a file belongs to; empty: the core.
func sliceOf(path string) string {
	for _, s := range productSlices {
		for _, folder := range s.folders {
			if strings.HasPrefix(path, folder+"/") {
				return s.name
			}
		}
	}
	return ""
}

func printLines(out io.Writer, files []file) {
	modules, parts := map[string]int{}, map[string]int{}
	total := 0
	for _, f := range files {
		module := "sdk"
		if strings.HasPrefix(f.path, "server/") {
			module = "server"
		}
		modules[module] += f.lines
		part := sliceOf(f.path)
		if part == "" {
			part = "core"
		}
		parts[part] += f.lines
		total += f.lines
	}
	fmt.Fprintf(out, "product lines\n%8d total\n%8d sdk\n%8d server\n%8d core\n", total, modules["sdk"], modules["server"], parts["core"])
	for _, s := range productSlices {
		fmt.Fprintf(out, "%8d slice %s\n", parts[s.name], s.name)
	}
}

func printGateZero(out io.Writer, files []file, verbose bool) {
	folders, core := map[string]bool{}, []string{}
	for _, f := range files {
		if !mentions.MatchString(f.text) && !mentions.MatchString(f.path) {
			continue
		}
		folders[filepath.Dir(f.path)] = true
		if sliceOf(f.path) != "gatezero" {
			core = append(core, f.path)
		}
	}
	fmt.Fprintf(out, "\nGate Zero\n%8d directories\n%8d core files\n", len(folders), len(core))
	if verbose {
		printAll(out, core)
	}
}

func printAll(out io.Writer, list []string) {
	for _, item := range list {
		fmt.Fprintf(out, "         %s\n", item)
	}
}
