package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// span is a run of lines.
type span struct{ from, to int }

// executed compares two coverage profiles of mode count and returns the spans of each file, by its
// import path, that ran at least once for each report.
func executed(base, with string, reports int) (map[string][]span, error) {
	before, err := counts(base)
	if err != nil {
		return nil, err
	}
	after, err := counts(with)
	if err != nil {
		return nil, err
	}
	way := map[string][]span{}
	for block, n := range after {
		if n-before[block] < reports {
			continue
		}
		name, place, _ := strings.Cut(block, ":")
		if strings.HasSuffix(name, "_test.go") || notProduct.MatchString(name) {
			continue
		}
		var s span
		var column int
		if _, err := fmt.Sscanf(place, "%d.%d,%d.%d", &s.from, &column, &s.to, &column); err != nil {
			return nil, fmt.Errorf("%s: %w", block, err)
		}
		way[name] = append(way[name], s)
	}
	return way, nil
}

// counts reads how often each block of a profile ran.
func counts(name string) (map[string]int, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // mode: count
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found[fields[0]] += n
	}
	return found, nil
}

// shapesOf lists the struct types that carry a report through the functions of a way.
func shapesOf(way map[string][]span) ([]string, error) {
	paths := map[string]bool{}
	for name := range way {
		paths[name[:strings.LastIndex(name, "/")]] = true
	}
	patterns := make([]string, 0, len(paths))
	for path := range paths {
		patterns = append(patterns, path)
	}
	slices.Sort(patterns)
	config := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, err
	}
	carriers := carrierSet{tree: map[string]bool{}, known: map[*types.Named]bool{}}
	for path := range paths {
		carriers.tree[path] = true
	}
	found := map[string]bool{}
	for _, p := range loaded {
		for _, e := range p.Errors {
			return nil, e
		}
		for _, f := range p.Syntax {
			position := p.Fset.Position(f.Pos())
			spans := way[p.PkgPath+"/"+filepath.Base(position.Filename)]
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil || !touched(spans, p.Fset.Position(fn.Body.Pos()).Line, p.Fset.Position(fn.Body.End()).Line) {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						if v, ok := p.TypesInfo.Defs[id].(*types.Var); ok {
							carriers.collect(v.Type(), found)
						}
					}
					return true
				})
			}
		}
	}
	list := make([]string, 0, len(found))
	for name := range found {
		list = append(list, name)
	}
	slices.Sort(list)
	return list, nil
}

func touched(spans []span, from, to int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.from <= to && s.to >= from })
}

// carrierSet knows which struct types of the tree hold the code of a failure.
type carrierSet struct {
	tree  map[string]bool
	known map[*types.Named]bool
}

// collect adds a type's name to found if it carries a report. Pointers, slices and arrays are
// looked through.
func (c carrierSet) collect(t types.Type, found map[string]bool) {
	if named := c.named(t); named != nil && c.carries(named) {
		found[named.Obj().Pkg().Path()+"."+named.Obj().Name()] = true
	}
}

func (c carrierSet) named(t types.Type) *types.Named {
	for {
		switch u := types.Unalias(t).(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		case *types.Named:
			if _, ok := u.Underlying().(*types.Struct); !ok || u.Obj().Pkg() == nil || !c.tree[u.Obj().Pkg().Path()] {
				return nil
			}
			return u
		default:
			return nil
		}
	}
}

// carries reports whether a struct has a field Code beside one of the entity, or a field that
// carries.
func (c carrierSet) carries(named *types.Named) bool {
	if known, ok := c.known[named]; ok {
		return known
	}
	c.known[named] = false // while its own fields are looked at
	s := named.Underlying().(*types.Struct)
	names := map[string]bool{}
	for f := range s.Fields() {
		names[f.Name()] = true
		if inner := c.named(f.Type()); inner != nil && c.carries(inner) {
			c.known[named] = true
		}
	}
	if names["Code"] && names["EntityID"] {
		c.known[named] = true
	}
	return c.known[named]
}
