package vector

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// Refusal is an error that the server answered.
type Refusal struct {
	HTTP   int
	Code   int    // error.code
	Reason string // of the ErrorInfo, if there is one
	Detail string // its metadata.detail
	Body   []byte
}

func (r *Refusal) Error() string { return fmt.Sprintf("refused: HTTP %d: %s", r.HTTP, r.Body) }

// Call calls an operation and returns its response; an error is a *Refusal if the
// server refused.
func (t *Target) Call(ctx context.Context, b Binding, op, user, params string) ([]byte, error) {
	req, err := t.request(ctx, b, op, user, params)
	if err != nil {
		return nil, err
	}
	r, err := t.do(req)
	if err != nil {
		return nil, err
	}
	r.binding = b
	if refusal := r.refusal(); refusal != nil {
		return nil, refusal
	}
	return r.result()
}

// Exchange calls an operation and returns the answer as it came. An event stream is read
// to its end.
func (t *Target) Exchange(ctx context.Context, b Binding, op, user, params string) (*http.Response, []byte, error) {
	req, err := t.request(ctx, b, op, user, params)
	if err != nil {
		return nil, nil, err
	}
	return t.Do(req)
}

// Do sends a request and returns the answer as it came.
func (t *Target) Do(req *http.Request) (*http.Response, []byte, error) {
	res, err := t.Client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, body, err
}

func (t *Target) request(ctx context.Context, b Binding, op, user, params string) (*http.Request, error) {
	build := t.restRequest
	if b == JSONRPC {
		build = t.rpcRequest
	}
	req, _, err := build(ctx, op, params)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, t.Header)
	if t.Tokens[user] != "" {
		req.Header.Set("Authorization", "Bearer "+t.Tokens[user])
	}
	return req, nil
}

func (r *reply) refusal() *Refusal {
	out := &Refusal{HTTP: r.res.StatusCode, Body: r.body}
	st, details, err := r.status(r.res.StatusCode)
	if err != nil {
		if r.res.StatusCode == http.StatusOK {
			return nil
		}
		return out
	}
	out.Code = st.Code
	for _, d := range details {
		if d.Reason != "" {
			out.Reason, out.Detail = d.Reason, d.Metadata["detail"]
		}
	}
	return out
}

// Stream is an event stream that is being read.
type Stream struct {
	ID      string // of the last frame
	Header  http.Header
	reply   *reply
	in      *bufio.Reader
	Comment int // comment records seen
}

// Open calls a streaming operation. Close the stream in the end.
func (t *Target) Open(ctx context.Context, b Binding, op, user, params string) (*Stream, error) {
	req, err := t.request(ctx, b, op, user, params)
	if err != nil {
		return nil, err
	}
	res, err := t.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		defer res.Body.Close()
		r := &reply{binding: b, res: res}
		if r.body, err = io.ReadAll(res.Body); err != nil {
			return nil, err
		}
		if refusal := r.refusal(); refusal != nil {
			return nil, refusal
		}
		return nil, fmt.Errorf("no event stream: %s", r.body)
	}
	return &Stream{Header: res.Header, reply: &reply{binding: b, res: res}, in: bufio.NewReader(res.Body)}, nil
}

// Next returns the next frame, out of its envelope; io.EOF at the end.
func (s *Stream) Next() ([]byte, error) {
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		switch {
		case bytes.HasPrefix(line, []byte("id: ")):
			s.ID = string(bytes.TrimSpace(line[4:]))
		case bytes.HasPrefix(line, []byte(":")):
			s.Comment++
		case bytes.HasPrefix(line, []byte("data: ")):
			frame := bytes.TrimSpace(line[6:])
			if err := soundFrame(frame, s.reply.binding == JSONRPC); err != nil {
				return nil, err
			}
			return s.reply.unwrap(Step{}, frame)
		}
	}
}

// All reads the stream to its end.
func (s *Stream) All() (frames [][]byte, err error) {
	defer s.Close()
	for {
		f, err := s.Next()
		if err == io.EOF {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
}

// Close ends the stream; the task goes on.
func (s *Stream) Close() { s.reply.res.Body.Close() }
