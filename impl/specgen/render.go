package specgen

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"strings"
	"text/template"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"anchor": anchor, "sentence": sentence,
}).ParseFS(templateFiles, "templates/*.tmpl"))

// execute runs a template.
func execute(name string, in any) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, in); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// render runs a template and formats the Go source that it gives.
func render(name string, in any) ([]byte, error) {
	b, err := execute(name, in)
	if err != nil {
		return nil, err
	}
	src, err := format.Source(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return src, nil
}

// anchor is the name that renderers of Markdown give to a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(".:`", r) {
			return -1
		}
		return r
	}, strings.ToLower(heading))
}

// sentence is the first sentence of a text.
func sentence(s string) string {
	first, _, more := strings.Cut(s, ". ")
	if more {
		return first + "."
	}
	return first
}
