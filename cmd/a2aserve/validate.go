package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"a2aserve/impl/validate"
	"a2aserve/impl/validate/report"

	"github.com/spf13/cobra"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	options     validate.Options
	from, input string
	format      string
	quiet       bool
	list        bool
}

func validateCommand() *cobra.Command {
	var f validateFlags
	c := &cobra.Command{
		Use:   "validate FILE…|-",
		Short: "Say whether documents are what the protocol allows",
		Long: `Say whether documents are what protocol 1.0 allows: Agent Cards, tasks, messages, events,
JSON-RPC requests and responses, captured streams.

A file holds JSON (one document, several, or an array of them), JSON lines, a captured SSE
stream (its events are also judged by their order), or YAML; "-" is the standard input. Of a
folder, the files ending in .json, .jsonl, .ndjson, .sse, .yaml and .yml are read. The type
of a document is recognised by its shape, or given with --type.

What a server sends must be canonical; what a client sends is judged as servers read it.
Exit code 0 means that all documents are valid, 1 that one is not, and 2 that something could
not be read.`,
		Example: `  a2aserve validate agent-card.yaml captures/
  curl -sN … | a2aserve validate --input sse -
  a2aserve validate --type Task --strict --format sarif tasks.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	o := &f.options
	c.Flags().StringVar(&o.Type, "type", "", "`definition` that all documents are of, or what JSON-RPC carries; --list-types names them")
	c.Flags().StringVar(&o.Method, "method", "", "`operation` that JSON-RPC responses answer, where their request is not in the file")
	c.Flags().StringVar(&f.from, "from", "", "who sends the documents: `client or server`; by the type, if not given")
	c.Flags().StringVar(&f.input, "input", "", "`form` of the input: json, lines, sse or yaml; by name and content, if not given")
	c.Flags().BoolVar(&o.Stream, "stream", false, "the documents of a file are the frames of one stream, in order")
	c.Flags().BoolVar(&o.Strict, "strict", false, "unknown members, and all that is a warning otherwise, are errors")
	c.Flags().StringSliceVar(&o.Allow, "allow", nil, "`rule` that is not reported; repeatable")
	c.Flags().IntVar(&o.MaxDocument, "max-document", validate.DefaultMaxDocument, "`bytes` of one document; larger ones are not read")
	c.Flags().StringVar(&f.format, "format", "text", "`format` of the output: "+strings.Join(report.Formats, ", "))
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print findings only")
	c.Flags().BoolVar(&f.list, "list-types", false, "print the types and the rules, and exit")
	return c
}

var (
	errInvalidDocuments = errors.New("not all documents are valid")
	errNoFiles          = errors.New("validate needs files, folders, or - for the standard input; see a2aserve validate --help")
	errUnreadable       = errors.New("not everything could be read")
)

func (f *validateFlags) run(c *cobra.Command, args []string) error {
	if f.list {
		return listTypes(c.OutOrStdout())
	}
	if len(args) == 0 {
		return usageError{errNoFiles}
	}
	f.options.From, f.options.Input = validate.Sender(f.from), validate.Input(f.input)
	v, err := validate.New(f.options)
	if err != nil {
		return usageError{err}
	}
	out := c.OutOrStdout()
	r, err := report.New(f.format, out, report.Options{Colour: terminal(out) && os.Getenv("NO_COLOR") == "", Quiet: f.quiet})
	if err != nil {
		return usageError{err}
	}
	a := &validation{v: v, out: r, stdin: c.InOrStdin(), progress: meter{w: c.ErrOrStderr(), on: terminal(c.ErrOrStderr())}}
	for _, path := range args {
		if c.Context().Err() != nil {
			break
		}
		a.path(c, path)
	}
	a.progress.clear()
	if err := r.Close(a.sum); err != nil {
		return usageError{err}
	}
	switch {
	case c.Context().Err() != nil:
		return usageError{errUnreadable}
	case a.sum.Unreadable > 0:
		return usageError{errUnreadable}
	case a.sum.Invalid > 0:
		return errInvalidDocuments
	}
	return nil
}

func listTypes(w io.Writer) error {
	fmt.Fprintf(w, "types:\n  %s\nrules, with their level in what servers and what clients send:\n", strings.Join(validate.Types(), "\n  "))
	for _, r := range validate.Rules {
		levels := []string{string(r.Server), string(r.Client)}
		for i := range levels {
			if levels[i] == "" {
				levels[i] = "off"
			}
		}
		fmt.Fprintf(w, "  %-18s %-8s %-8s %s\n", r.ID, levels[0], levels[1], r.Text)
	}
	return nil
}

// validation is one run over all files.
type validation struct {
	v        *validate.Validator
	out      report.Reporter
	stdin    io.Reader
	sum      report.Summary
	progress meter
}

// endings are those of the files that a folder is searched for.
var endings = []string{".json", ".jsonl", ".ndjson", ".sse", ".yaml", ".yml"}

// path validates a file, or those of a folder. Folders whose name begins with a dot are not
// searched.
func (a *validation) path(c *cobra.Command, path string) {
	if path == "-" {
		a.file(c, "<stdin>", a.stdin)
		return
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		a.open(c, path)
		return
	}
	before := a.sum.Files
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			a.unreadable(p, err)
			return nil
		case c.Context().Err() != nil:
			return fs.SkipAll
		case d.IsDir() && p != path && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && slices.Contains(endings, strings.ToLower(filepath.Ext(p))):
			a.open(c, p)
		}
		return nil
	})
	if err == nil && a.sum.Files == before {
		err = fmt.Errorf("no file ending in %s", strings.Join(endings, ", "))
	}
	if err != nil {
		a.unreadable(path, err)
	}
}

func (a *validation) open(c *cobra.Command, path string) {
	f, err := os.Open(path)
	if err != nil {
		a.unreadable(path, err)
		return
	}
	defer f.Close()
	a.file(c, path, f)
}

// unreadable counts what is not even begun with.
func (a *validation) unreadable(path string, err error) {
	a.out.Begin(path)
	a.sum.Files++
	a.sum.Unreadable++
	a.progress.clear()
	a.out.Unreadable(path, err)
	a.out.End()
}

func (a *validation) file(c *cobra.Command, name string, r io.Reader) {
	a.sum.Files++
	a.out.Begin(name)
	a.progress.begin(name, r)
	for result, err := range a.v.File(name, &a.progress) {
		if err != nil || len(result.Findings) > 0 {
			a.progress.clear()
		}
		if err != nil {
			a.sum.Unreadable++
			a.out.Unreadable(name, err)
		} else {
			a.sum.Add(result)
			a.out.Result(result)
		}
		a.progress.show(a.sum)
		if c.Context().Err() != nil {
			break
		}
	}
	a.progress.clear()
	a.out.End()
}

// meter counts what is read, and shows it on a terminal now and then.
type meter struct {
	w       io.Writer
	on      bool
	r       io.Reader
	name    string
	size    int64 // of the file; 0: unknown
	read    int64
	shown   time.Time
	visible bool
}

func (p *meter) begin(name string, r io.Reader) {
	p.name, p.r, p.read, p.size = name, r, 0, 0
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			p.size = info.Size()
		}
	}
}

// Read reads the file.
func (p *meter) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.read += int64(n)
	return n, err
}

func (p *meter) show(s report.Summary) {
	if !p.on || time.Since(p.shown) < 100*time.Millisecond {
		return
	}
	size := ""
	if p.size > 0 {
		size = fmt.Sprintf(" of %d", p.size>>20)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s, %d invalid; %s: %d%s MiB", documents(s.Documents), s.Invalid, p.name, p.read>>20, size)
	p.shown, p.visible = time.Now(), true
}

func documents(n int) string {
	if n == 1 {
		return "1 document"
	}
	return fmt.Sprintf("%d documents", n)
}

// clear takes the line away, so that it does not stand among the findings.
func (p *meter) clear() {
	if p.visible {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.visible = false
	}
}
