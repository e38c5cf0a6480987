package vector

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// Target is the server that vectors run against.
type Target struct {
	Origin    string            // scheme and authority
	RPC, REST string            // paths
	Tokens    map[string]string // bearer token by user; "nobody" has none
	Client    *http.Client
	Header    http.Header // further headers of Call and Open; may be nil
	// Observe sees each REST exchange of an operation, for contract checks; may be nil.
	Observe func(req *http.Request, body []byte, res *http.Response, answer []byte) error
}

// reply is what came back.
type reply struct {
	binding Binding
	res     *http.Response
	body    []byte
	frames  [][]byte // of an event stream
}

// Run runs the vector over one binding.
func (v *Vector) Run(ctx context.Context, b Binding, t *Target) error {
	vars := Vars{}
	open := streams{}
	defer open.close()
	for i, s := range v.Steps {
		vars["fresh"] = uuid.NewString()
		step := t.step
		if s.Name != "" {
			step = open.step(t)
		}
		if err := step(ctx, s, b, vars); err != nil {
			return fmt.Errorf("step %d (%s %s): %w", i+1, s.Verb, s.Arg, err)
		}
	}
	return nil
}

func (t *Target) step(ctx context.Context, s Step, b Binding, vars Vars) error {
	body, err := vars.Expand(string(s.Body))
	if err != nil {
		return err
	}
	var req *http.Request
	var sent []byte
	switch {
	case s.Verb == "http":
		req, sent, err = t.plain(ctx, s.Arg, body, vars)
	case b == JSONRPC:
		req, sent, err = t.rpcRequest(ctx, s.Arg, body)
	default:
		req, sent, err = t.restRequest(ctx, s.Arg, body)
	}
	if err != nil {
		return err
	}
	if tok := t.Tokens[s.User]; tok != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+tok)
	}
	r, err := t.do(req)
	if err != nil {
		return err
	}
	r.binding = b
	if s.Verb != "http" && b == REST && t.Observe != nil {
		if err := t.Observe(req, sent, r.res, r.body); err != nil {
			return fmt.Errorf("the description of the API disagrees: %w", err)
		}
	}
	for _, x := range s.Expects {
		if err := r.check(s, x, vars); err != nil {
			return fmt.Errorf("%s: %w", x.Kind, err)
		}
	}
	return nil
}

func (t *Target) plain(ctx context.Context, arg, text string, vars Vars) (*http.Request, []byte, error) {
	verb, path, _ := strings.Cut(arg, " ")
	path, err := vars.Expand(path)
	if err != nil {
		return nil, nil, err
	}
	path = strings.NewReplacer("{rpc}", t.RPC, "{rest}", t.REST, "{card}", "/.well-known/agent-card.json").Replace(path)
	head, body, _ := strings.Cut(text, "\n\n")
	req, err := http.NewRequestWithContext(ctx, verb, t.Origin+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(head) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			req.Header.Add(k, strings.TrimSpace(v))
		}
	}
	return req, []byte(body), nil
}

func (t *Target) do(req *http.Request) (*reply, error) {
	res, err := t.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	r := &reply{res: res}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		if r.body, err = io.ReadAll(res.Body); err != nil {
			return r, err
		}
		return r, t.sound(req, res, r.body)
	}
	in := bufio.NewReader(res.Body)
	for {
		line, err := in.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			frame := bytes.TrimSpace(data)
			if err := soundFrame(frame, req.URL.Path == t.RPC); err != nil {
				return nil, err
			}
			r.frames = append(r.frames, frame)
		}
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *reply) check(s Step, x Expect, vars Vars) error {
	switch x.Kind {
	case "want":
		if r.res.StatusCode != http.StatusOK {
			return fmt.Errorf("HTTP %d: %s", r.res.StatusCode, r.body)
		}
		got, err := r.result()
		if err != nil {
			return err
		}
		return Match(string(x.Body), got, vars)
	case "frames":
		if r.frames == nil {
			return fmt.Errorf("no event stream, but HTTP %d: %s", r.res.StatusCode, r.body)
		}
		return r.matchFrames(s, x.Body, vars)
	case "error":
		return r.checkError(x, vars)
	case "response":
		return r.checkResponse(x, vars)
	}
	return fmt.Errorf("unknown expectation")
}

func (r *reply) checkResponse(x Expect, vars Vars) error {
	if len(x.Args) != 1 || fmt.Sprint(r.res.StatusCode) != x.Args[0] {
		return fmt.Errorf("HTTP %d, want %v: %.300s", r.res.StatusCode, x.Args, r.body)
	}
	head, body, _ := strings.Cut("\n"+string(x.Body), "\n\n")
	for line := range strings.Lines(head) {
		k, want, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		want = strings.TrimSpace(want)
		got := r.res.Header.Values(k)
		switch {
		case want == "$absent" && got == nil, want == "$any" && got != nil:
		case strings.HasPrefix(want, "$has ") && strings.Contains(strings.Join(got, ", "), want[5:]):
		case strings.Join(got, ", ") != want:
			return fmt.Errorf("header %s is %q, want %q", k, got, want)
		}
	}
	if body = strings.TrimSpace(body); body == "" {
		return nil
	}
	if body == "$nothing" {
		if len(r.body) > 0 {
			return fmt.Errorf("the body should be empty, is %.300s", r.body)
		}
		return nil
	}
	return Match(body, r.body, vars)
}

// matchFrames compares the frames in order; a line `...` skips any number of them.
func (r *reply) matchFrames(s Step, patterns []byte, vars Vars) error {
	i := 0
	next := func() ([]byte, error) {
		if i == len(r.frames) {
			return nil, io.EOF
		}
		i++
		return r.unwrap(s, r.frames[i-1])
	}
	toTheEnd, err := matchNext(next, patterns, vars)
	if err == nil && toTheEnd && i < len(r.frames) {
		err = fmt.Errorf("%d frames more than expected", len(r.frames)-i)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.Join(r.frames, []byte("\n")))
	}
	return nil
}

// matchNext reads frames until all patterns are matched, in order. It reports whether no
// other frame may follow, which is so unless the last line is `...`.
func matchNext(next func() ([]byte, error), patterns []byte, vars Vars) (toTheEnd bool, err error) {
	skip := false
	for line := range strings.Lines(string(patterns)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line == "..." {
			skip = true
			continue
		}
		for {
			got, err := next()
			if err == io.EOF {
				return false, fmt.Errorf("the stream ended before a frame that matches %s", line)
			}
			if err != nil {
				return false, err
			}
			if err = Match(line, got, vars); err == nil {
				break
			}
			if !skip {
				return false, err
			}
		}
		skip = false
	}
	return !skip, nil
}
