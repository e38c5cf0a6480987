package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"a2aserve/impl/check"

	"github.com/spf13/cobra"
)

// checkFlags are the flags of check.
type checkFlags struct {
	format, out, scenario, expect, ca       string
	token, tokenEnv, second, secondEnv      string
	header, only                            []string
	timeout                                 time.Duration
	maxRequests                             int
	readOnly, insecure, all, list, noColour bool
}

func checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check URL",
		Short: "Try whether a running agent, anybody's, keeps to the specification",
		Long: `Try whether a running agent, anybody's, keeps to the specification: its card, each
interface that the card names, and whether they agree with each other.

It does no harm: requests go out one at a time and are bounded, only tasks of this run are
touched, and what is still running in the end is canceled. --read-only makes no tasks.

Checks that need a certain behaviour send a message that provokes it: those of the demo
agent, or those that a scenario file names. What is not provoked is skipped.

Exit code 0 means that no MUST has failed, but for those that --expect names; 1 that one
has; 2 that nothing could be tried.`,
		Example: `  a2aserve check http://127.0.0.1:8091
  a2aserve check https://agent.example.com --token-env TOKEN --read-only
  a2aserve check http://127.0.0.1:8091 --format html --out report.html
  a2aserve check http://127.0.0.1:8091 --expect known.yaml --format junit --out check.xml`,
		Args: func(c *cobra.Command, args []string) error {
			if !f.list && len(args) != 1 {
				return usageError{fmt.Errorf("%s takes the address of one agent; see --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.list {
				return listChecks(c.OutOrStdout())
			}
			return runCheck(c, args[0], f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "text", "of the report: text, json, junit or html")
	fs.StringVar(&f.out, "out", "", "`file` for the report; otherwise it goes to standard output")
	fs.StringVar(&f.scenario, "scenario", "", "`file` that says which message provokes which behaviour, in YAML")
	fs.StringVar(&f.expect, "expect", "", "`file` with deviations that are known, in YAML")
	fs.StringVar(&f.token, "token", "", "bearer `token`; others on the machine may see it, --token-env keeps it from them")
	fs.StringVar(&f.tokenEnv, "token-env", "", "`variable` that holds the bearer token")
	fs.StringVar(&f.second, "second-token", "", "bearer `token` of another caller, to try their isolation")
	fs.StringVar(&f.secondEnv, "second-token-env", "", "`variable` that holds it")
	fs.StringArrayVar(&f.header, "header", nil, "`\"Name: value\"` sent with each request; its value is kept out of the report")
	fs.StringSliceVar(&f.only, "only", nil, "`ids` of checks or groups, with commas; otherwise all are tried")
	fs.StringVar(&f.ca, "ca", "", "`file` with certificates of authorities to trust, in PEM")
	fs.BoolVar(&f.insecure, "insecure", false, "trust any certificate")
	fs.DurationVar(&f.timeout, "timeout", 10*time.Second, "of one request, and between two events of a stream")
	fs.IntVar(&f.maxRequests, "max-requests", 1000, "most requests of the run")
	fs.BoolVar(&f.readOnly, "read-only", false, "send nothing that makes a task")
	fs.BoolVar(&f.all, "all", false, "show in the text what passed or was not tried, too")
	fs.BoolVar(&f.noColour, "no-color", false, "no colours, as with NO_COLOR set")
	fs.BoolVar(&f.list, "list", false, "list the checks and try nothing")
	return c
}

var errMustFailed = errors.New("the agent does not keep to the specification")

func runCheck(c *cobra.Command, url string, f checkFlags) error {
	write, ok := map[string]func(*check.Report, io.Writer) error{
		"json": (*check.Report).JSON, "junit": (*check.Report).JUnit, "html": (*check.Report).HTML,
		"text": func(r *check.Report, w io.Writer) error { return r.Text(w, f.out == "" && coloured(w, f), f.all) },
	}[f.format]
	if !ok {
		return usageError{fmt.Errorf("--format: %q is none of text, json, junit and html", f.format)}
	}
	o, err := f.options(url)
	if err != nil {
		return usageError{err}
	}
	shown := showProgress(c.ErrOrStderr(), &o)
	r, err := check.Run(c.Context(), o)
	shown()
	if err != nil {
		return usageError{err}
	}
	if err := f.report(c, r, write); err != nil {
		return err
	}
	if err := c.Context().Err(); err != nil {
		return errors.New("the run was ended before all was tried")
	}
	if !r.OK() {
		return errMustFailed
	}
	return nil
}

// report writes to the file, and a word on the outcome to the terminal; or all to standard
// output.
func (f checkFlags) report(c *cobra.Command, r *check.Report, write func(*check.Report, io.Writer) error) error {
	if f.out == "" {
		return write(r, c.OutOrStdout())
	}
	file, err := os.Create(f.out)
	if err != nil {
		return usageError{err}
	}
	err = errors.Join(write(r, file), file.Close())
	if err == nil && f.format != "text" {
		err = r.Text(c.OutOrStdout(), coloured(c.OutOrStdout(), f), f.all)
	}
	if err == nil {
		_, err = fmt.Fprintf(c.OutOrStdout(), "The report is in %s\n", f.out)
	}
	return err
}

// options reads what the flags name.
func (f checkFlags) options(url string) (o check.Options, err error) {
	o = check.Options{URL: url, ReadOnly: f.readOnly, Only: f.only, Timeout: f.timeout, MaxRequests: f.maxRequests, Header: http.Header{}}
	if f.timeout <= 0 || f.maxRequests <= 0 {
		return o, errors.New("--timeout and --max-requests must be above 0")
	}
	if o.Token, err = secret("token", f.token, f.tokenEnv); err != nil {
		return o, err
	}
	if o.SecondToken, err = secret("second-token", f.second, f.secondEnv); err != nil {
		return o, err
	}
	if o.SecondToken != "" && o.SecondToken == o.Token {
		return o, errors.New("--second-token: it is the same as the first; another caller's is needed")
	}
	for _, h := range f.header {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return o, errors.New(`--header: "Name: value" is expected`)
		}
		o.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if f.ca != "" || f.insecure {
		o.TLS = &tls.Config{InsecureSkipVerify: f.insecure} // asked for by name
	}
	if f.ca != "" {
		b, err := os.ReadFile(f.ca)
		if err != nil {
			return o, err
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(b) {
			return o, fmt.Errorf("--ca: %s has no certificate in PEM", f.ca)
		}
	}
	if f.scenario != "" {
		if o.Scenario, err = fromFile(f.scenario, check.ReadScenario); err != nil {
			return o, err
		}
	}
	if f.expect != "" {
		o.Expect, err = fromFile(f.expect, check.ReadExpectations)
	}
	return o, err
}

func fromFile[T any](path string, read func([]byte) (T, error)) (out T, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return out, err
	}
	if out, err = read(b); err != nil {
		return out, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// secret is a flag's value, or that of a variable.
func secret(flag, value, variable string) (string, error) {
	if variable == "" {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("--%s and --%s-env say the same twice", flag, flag)
	}
	if value = os.Getenv(variable); value == "" {
		return "", fmt.Errorf("--%s-env: %s is not set", flag, variable)
	}
	return value, nil
}

func coloured(w io.Writer, f checkFlags) bool {
	return terminal(w) && !f.noColour && os.Getenv("NO_COLOR") == ""
}

// showProgress keeps one line on a terminal up to date; the returned function takes it away.
func showProgress(w io.Writer, o *check.Options) func() {
	if !terminal(w) {
		return func() {}
	}
	failed := 0
	o.Progress = func(done, total int, r *check.Result) {
		if r.Verdict == check.Fail && r.Level == check.Must {
			failed++
		}
		fmt.Fprintf(w, "\r\x1b[K%3d of %d, %d MUST failed: %s %s", done, total, failed, r.ID, r.Binding)
	}
	return func() { fmt.Fprint(w, "\r\x1b[K") }
}

// listChecks prints the catalogue.
func listChecks(w io.Writer) error {
	for _, k := range check.Catalogue() {
		var needs []string
		for _, n := range k.Needs {
			needs = append(needs, string(n))
		}
		line := fmt.Sprintf("%-28s %-6s %-22s %s", k.ID, k.Level, k.Section, k.Title)
		if len(needs) > 0 {
			line += " [" + strings.Join(needs, ", ") + "]"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
