package check

import (
	_ "embed"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed report.html.tmpl
var page string

var htmlReport = template.Must(template.New("report").Funcs(template.FuncMap{
	"section": section,
	"status":  func(n int) string { return http.StatusText(n) },
	"pretty":  pretty,
	"seconds": func(ms int64) string {
		return (time.Duration(ms) * time.Millisecond).Round(10 * time.Millisecond).String()
	},
	"class":  (*Result).class,
	"groups": (*Report).groups,
	"bad":    func(r *Report) []*Result { return r.pick(func(x *Result) bool { return x.Failed() }) },
	"known": func(r *Report) []*Result {
		return r.pick(func(x *Result) bool { return x.Expected != "" || x.Unexpected != "" })
	},
}).Parse(page))

// HTML writes the report as one page that needs nothing else: no script, font or picture
// from anywhere.
func (r *Report) HTML(w io.Writer) error { return htmlReport.Execute(w, r) }

// class is the result's for the style sheet.
func (r *Result) class() string {
	switch {
	case r.Verdict == Fail && r.Expected != "":
		return "known"
	case r.Verdict == Fail:
		return "fail " + strings.ToLower(string(r.Level))
	case r.Verdict == NotApplicable:
		return "na"
	}
	return string(r.Verdict)
}

func (r *Report) pick(which func(*Result) bool) (out []*Result) {
	for _, one := range r.Results {
		if which(one) {
			out = append(out, one)
		}
	}
	return out
}

// group is the results of one part of the catalogue.
type group struct {
	Name    string
	Results []*Result
	Passed  int
	Failed  int
	Known   int
	Rest    int
}

func (r *Report) groups() (out []*group) {
	at := map[string]*group{}
	for _, one := range r.Results {
		g := at[one.Group]
		if g == nil {
			g = &group{Name: one.Group}
			at[one.Group] = g
			out = append(out, g)
		}
		g.Results = append(g.Results, one)
		switch {
		case one.Failed():
			g.Failed++
		case one.Verdict == Fail:
			g.Known++
		case one.Verdict == Pass:
			g.Passed++
		default:
			g.Rest++
		}
	}
	return out
}

// pretty indents JSON, and leaves everything else as it is.
func pretty(s string) string {
	v := jsontext.Value(strings.Clone(s))
	if v.Indent(jsontext.AllowDuplicateNames(true), jsontext.WithIndent("  ")) != nil {
		return s
	}
	return string(v)
}
