package api_test

import (
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pagesOf returns the reference's pages by their path: the index, every area and the pages
// of codes.
func (w *world) pagesOf() map[string]*answer {
	w.Helper()
	all := map[string]*answer{}
	for _, path := range []string{"/docs", "/docs?q=lease", "/errors", "/errors/NETWORK_TIMEOUT"} {
		all[path] = w.do("", http.MethodGet, path, nil).ok()
	}
	for _, tag := range w.openapi()["tags"].([]any) {
		path := "/docs/" + strings.ToLower(strings.ReplaceAll(tag.(object)["name"].(string), " ", "-"))
		all[path] = w.do("", http.MethodGet, path, nil).ok()
	}
	return all
}

// part is the article of a page that has an id; empty: there is none.
func part(page, id string) string {
	_, rest, ok := strings.Cut(page, ` id="`+id+`">`)
	if !ok {
		return ""
	}
	inside, _, _ := strings.Cut(rest, "</article>")
	return inside
}

// Every operation of the document is on the page of its area: with each parameter, each
// field of its body, each field of its answer, its roles and its errors.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doc, pages := w.openapi(), w.pagesOf()
	index, checked := pages["/docs"].Body.String(), 0
	for path, methods := range doc["paths"].(object) {
		for method, op := range methods.(object) {
			op := op.(object)
			id, area := op["operationId"].(string), strings.ToLower(strings.ReplaceAll(op["tags"].([]any)[0].(string), " ", "-"))
			page := pages["/docs/"+area].Body.String()
			article := part(page, id)
			name := strings.ToUpper(method) + " " + path
			wants := []string{"<code>" + path + "</code>", ">" + strings.ToUpper(method) + "</span>", html.EscapeString(op["summary"].(string)), `href="#` + id + `"`, "curl "}
			for _, p := range listOf(op["parameters"]) {
				wants = append(wants, "<code>"+p.(object)["name"].(string)+"</code>")
			}
			for _, role := range listOf(op["x-roles"]) {
				wants = append(wants, "<code>"+role.(string)+"</code>")
			}
			for _, codes := range op["x-errors"].(object) {
				for _, code := range codes.([]any) {
					wants = append(wants, `href="../errors/`+code.(string)+`"`)
				}
			}
			if body, ok := op["requestBody"].(object); ok {
				for _, field := range pathsOf(doc, body["content"].(object)["application/json"].(object)["schema"].(object), "", nil) {
					wants = append(wants, "<code>"+field+"</code>")
				}
			}
			for _, want := range wants {
				checked++
				if !strings.Contains(article, want) {
					t.Errorf("%s lacks %s", name, want)
				}
			}
			for status, answer := range op["responses"].(object) {
				if status != "default" {
					checked += holdAnswer(t, doc, name, page, article, answer.(object)["content"].(object)["application/json"].(object)["schema"].(object))
				}
			}
			if !strings.Contains(index, `href="docs/`+area+"#"+id+`"`) {
				t.Errorf("the index does not lead to %s", name)
			}
		}
	}
	if checked < 2500 {
		t.Errorf("only %d parts were looked for", checked)
	}
}

func listOf(v any) []any { l, _ := v.([]any); return l }

// pathsOf lists the ways to the members of a schema, as the pages write them.
func pathsOf(doc, schema object, prefix string, way []string) (list []string) {
	if ref, ok := schema["$ref"].(string); ok {
		if slices.Contains(way, ref) {
			return nil
		}
		return pathsOf(doc, follow(doc, ref), prefix, append(slices.Clone(way), ref))
	}
	if forms := listOf(schema["oneOf"]); forms != nil {
		return pathsOf(doc, forms[len(forms)-1].(object), prefix, way)
	}
	if all := listOf(schema["allOf"]); all != nil {
		return pathsOf(doc, all[0].(object), prefix, way)
	}
	if items, ok := schema["items"].(object); ok {
		return pathsOf(doc, items, strings.TrimSuffix(prefix, ".")+"[].", way)
	}
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		list = append(list, prefix+name)
		list = append(list, pathsOf(doc, properties[name].(object), prefix+name+".", way)...)
	}
	return list
}

var objectLink = regexp.MustCompile(`href="#object-([^"]+)"`)

// holdAnswer looks for every member of an answer: in the article itself, or in the objects
// that it leads to.
func holdAnswer(t *testing.T, doc object, name, page, article string, schema object) (checked int) {
	t.Helper()
	text, seen := article, map[string]bool{}
	for queue := objectLink.FindAllStringSubmatch(article, -1); len(queue) > 0; queue = queue[1:] {
		if of := queue[0][1]; !seen[of] {
			seen[of] = true
			object := part(page, "object-"+of)
			if object == "" {
				t.Errorf("%s leads to the object %s, which is not on the page", name, of)
			}
			text += object
			queue = append(queue, objectLink.FindAllStringSubmatch(object, -1)...)
		}
	}
	for _, field := range pathsOf(doc, schema, "", nil) {
		last := field[strings.LastIndexAny(field, ".")+1:]
		checked++
		if last != "request_id" && !strings.Contains(text, "<code>"+last+"</code>") && !strings.Contains(text, "."+last+"</code>") {
			t.Errorf("%s does not describe %s of its answer", name, field)
		}
	}
	return checked
}

var (
	inlineCode  = regexp.MustCompile(`(?i)<style|<script(?:[^>]*[^>]*)>[^<]|\sstyle=|\son[a-z]+=|javascript:`)
	outsideLink = regexp.MustCompile(`(?i)(?:href|src|action|srcset|content)="\s*(?:[a-z][a-z0-9+.-]*:|//)|@import|url\(`)
	assetLink   = regexp.MustCompile(`(?:href|src)="((?:\.\./)?assets/[^"]+)"`)
)

// Pages run nothing but their own script and load nothing from elsewhere: their policy says
// so, and they need no exception from it. Their files may be kept, since a change changes
// their names.
func TestReferenceIsContained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, page := range w.pagesOf() {
		text, header := page.Body.String(), page.Header()
		if found := inlineCode.FindString(text); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		if found := outsideLink.FindString(text); found != "" {
			t.Errorf("%s leads to the outside: %q", path, found)
		}
		csp := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, "http") ||
			header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, header)
		}
		if page.Body.Len() > 200<<10 {
			t.Errorf("%s has %d bytes", path, page.Body.Len())
		}
		files := assetLink.FindAllStringSubmatch(text, -1)
		if len(files) != 2 {
			t.Errorf("%s has the files %v", path, files)
		}
		for _, file := range files {
			got := w.do("", http.MethodGet, "/"+strings.TrimPrefix(file[1], "../"), nil).ok()
			if !strings.Contains(got.Header().Get("Cache-Control"), "immutable") || outsideLink.MatchString(got.Body.String()) {
				t.Errorf("%s: %v", file[1], got.Header())
			}
		}
	}
	w.do("", http.MethodGet, "/assets/reference.css", nil).failed(http.StatusNotFound, "NOT_FOUND")
}

// The server searches where there is no script: every word must be found, in an address, a
// text, a field or a code. What is searched for comes back as text.
func TestReferenceSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for query, wants := range map[string][]string{
		"kill+switch":         {`#post-cl-gate-zero-kill-switch"`, "3 calls match"},
		"PROMOTION_BLOCKED":   {`#post-promotions"`, "1 call matches"},
		"duplicate_safe":      {`#post-dead-letters-id-validate"`, "2 calls match"},
		"errors+zzyzx":        {"No call matches"},
		"%3Cscript%3Ealert(1": {"&lt;script&gt;alert(1", "No call matches"},
	} {
		page := w.do("", http.MethodGet, "/docs?q="+query, nil).ok().Body.String()
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not find %s", query, want)
			}
		}
	}
}

// The id of an operation is an address of its own, whatever area it is in.
func TestReferenceDeepLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.answered(w.request("", http.MethodGet, "/docs/post-retries-claim", nil))
	if got.Code != http.StatusFound || got.Header().Get("Location") != "retries#post-retries-claim" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	w.do("", http.MethodGet, "/docs/nothing", nil).failed(http.StatusNotFound, "NOT_FOUND")
}
