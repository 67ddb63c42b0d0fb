package console

import (
	"fmt"
	"html/template"
	"strings"
)

// Panel is a part of a page, shown where the page has room for panels of all sections. Only the
// page of the platform, admin, has.
type Panel struct {
	Page string
	Name string                      // of its template, panel_NAME.html, which defines "panel"
	View func(*Request) (any, error) // it may run beside others
}

// panelSet is what the names of the sets of panels begin with.
const panelSet = "panel "

// addPanels adds the templates of the panels of a section.
func (p *pages) addPanels(s Section) error {
	for _, panel := range s.Panels {
		set, err := template.New("").Funcs(functions()).ParseFS(s.Templates, "panel_"+strings.ReplaceAll(panel.Name, "-", "_")+".html")
		if err != nil {
			return fmt.Errorf("console: panel %s: %w", panel.Name, err)
		}
		p.sets[panelSet+panel.Name] = set
	}
	return nil
}

// panelView is what a panel shows.
type panelView struct {
	name string
	main any
}

// viewPanels reads what the panels of a page show. A panel that the visitor may not see, or that a
// limit of requests keeps from being read, is left out.
func (v *Request) viewPanels(page string) ([]panelView, error) {
	var panels []Panel
	for _, s := range v.console.sections {
		for _, panel := range s.Panels {
			if panel.Page == page {
				panels = append(panels, panel)
			}
		}
	}
	read, asks := make([]panelView, len(panels)), make([]func() error, len(panels))
	for i, panel := range panels {
		asks[i] = func() error {
			main, err := panel.View(v)
			if err == nil {
				read[i] = panelView{panel.Name, main}
			}
			return v.optional(err)
		}
	}
	return read, together(asks...)
}

// showPanels makes panels of what was read.
func (v *Request) showPanels(read []panelView) (list []template.HTML) {
	for _, p := range read {
		if p.name != "" {
			f := frame{Now: v.now, Who: v.who, CSRF: v.session.csrf(), Main: p.main}
			list = append(list, template.HTML(v.console.pages.render(panelSet+p.name, "panel", f))) //nolint:gosec // its template has escaped it
		}
	}
	return list
}
