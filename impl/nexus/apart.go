package nexus

import (
	"errors"
	"log/slog"
	"path/filepath"

	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Apart edits what the agent says to a server in another process, which knows neither the
// session's folders nor that its answers are gated.
type Apart struct {
	Files string // the session's files; paths that the agent reports begin there
	// Sources are the tools whose structured result names a file that they wrote, with the
	// member that does.
	Sources map[string]string
	Logger  *slog.Logger
}

var errOutside = errors.New("it lies outside of the session's files")

// DefaultSources are those of the tools that come with Nexus.
var DefaultSources = map[string]string{"write_file": "path"}

// Edit returns what the server is told in place of e. A reported file gets the path by
// which the server finds it, and none where it lies outside of the session's files: the
// server's folder holds the files of other sessions too.
func (a Apart) Edit(e event.Event) event.Event {
	switch e := e.(type) {
	case event.LLMResponse:
		e.Content = "" // it has not passed the output gates
		return e
	case event.ToolResult:
		path := e.OutputFile
		if path == "" {
			path = member(e.Structured, a.Sources[e.Name])
		}
		e.OutputFile = ""
		if path != "" {
			var err error
			if e.OutputFile, err = a.locate(path); err != nil {
				a.Logger.Warn("a reported file is not published", "tool", e.Name, "path", path, "error", err)
			}
		}
		return e
	}
	return e
}

// locate is where a file lies, links resolved. Nexus takes a path that begins with a slash
// for one below the session's files too.
func (a Apart) locate(path string) (string, error) {
	base, err := filepath.EvalSymlinks(a.Files)
	if err != nil {
		return "", err
	}
	if base, err = filepath.Abs(base); err != nil {
		return "", err
	}
	for _, from := range []string{a.Files, base} {
		if rel, err := filepath.Rel(from, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
			path = rel
			break
		}
	}
	found, err := filepath.EvalSymlinks(filepath.Join(base, filepath.Clean("/"+path)))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(base, found); err != nil || !filepath.IsLocal(rel) {
		return "", errOutside
	}
	return found, nil
}

// member is a text in a JSON object; empty where there is none.
func member(doc jsontext.Value, name string) string {
	var members map[string]jsontext.Value
	var text string
	if name == "" || doc.Kind() != '{' || json.Unmarshal(doc, &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}
