package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Exchange is one request and what came back, without credentials and cut to what a person
// reads.
type Exchange struct {
	Method   string   `json:"method"`
	URL      string   `json:"url"`
	Header   []string `json:"header,omitzero"` // "Name: value", sorted
	Body     string   `json:"body,omitzero"`
	Status   int      `json:"status,omitzero"` // 0: there was no answer
	Answered []string `json:"answerHeader,omitzero"`
	Answer   string   `json:"answer,omitzero"`
	Frames   []string `json:"frames,omitzero"` // data of each SSE event
	Ended    string   `json:"ended,omitzero"`  // how a stream was left: by whom
	Error    string   `json:"error,omitzero"`  // why there was no answer
	Took     int64    `json:"milliseconds"`

	body   []byte // of the answer, whole as far as it was read
	cut    bool   // the answer was longer than maxBody
	header http.Header
	frames [][]byte
	def    string // definition of a good answer, or of each frame
	on     *face
	id     string // of a JSON-RPC request, as JSON
	beyond bool   // it was about no operation, so that the binding need not have answered

	findings []finding // nil: not looked for yet
}

// maxShown bounds a body in a report, in bytes.
const maxShown = 4 << 10

// ask is a request before it is sent.
type ask struct {
	method, url string
	header      http.Header
	body        []byte
	def         string
	on          *face
	id          string
}

var errBudget = errors.New("the bound on requests is reached")

// send makes a request and reads the head of the answer. The caller reads the body or
// closes it, and calls done in the end.
func (s *session) send(ctx context.Context, a ask) (x *Exchange, res *http.Response) {
	x = &Exchange{
		Method: a.method, URL: s.redact(a.url), Header: s.headerLines(a.header), Body: s.shown(a.body),
		def: a.def, on: a.on, id: a.id,
	}
	if s.count >= s.maxRequests && !s.cleaning {
		x.Error = errBudget.Error()
		return x, nil
	}
	s.count++
	var body io.Reader
	if a.body != nil {
		body = bytes.NewReader(a.body)
	}
	r, err := http.NewRequestWithContext(ctx, a.method, a.url, body)
	if err != nil {
		x.Error = s.redact(err.Error())
		return x, nil
	}
	r.Header = a.header.Clone()
	started := time.Now()
	res, err = s.http.Do(r)
	x.Took = millis(time.Since(started))
	if err != nil {
		// The wrapped error repeats the method and the URL.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		x.Error = s.redact(err.Error())
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			x.Error = fmt.Sprintf("no answer within %s", s.timeout)
		}
		return x, nil
	}
	x.Status, x.header = res.StatusCode, res.Header
	x.Answered = s.headerLines(res.Header)
	return x, res
}

// do makes a request and reads the whole answer.
func (s *session) do(a ask) *Exchange {
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
	defer cancel()
	x, res := s.send(ctx, a)
	if res == nil {
		return x
	}
	defer res.Body.Close()
	s.read(x, res)
	return x
}

// read takes the answer's body, up to maxBody.
func (s *session) read(x *Exchange, res *http.Response) {
	started := time.Now()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if x.cut = len(b) > maxBody; x.cut {
		b = b[:maxBody]
	}
	x.Took += millis(time.Since(started))
	x.body, x.Answer = b, s.shown(b)
	if err != nil {
		x.Error = "the answer broke off: " + s.redact(err.Error())
	}
}

// shown is a body for people.
func (s *session) shown(b []byte) string {
	text := s.redact(strings.ToValidUTF8(string(b), "\ufffd"))
	if len(text) > maxShown {
		return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(text[:maxShown], ""), len(b))
	}
	return text
}

// secretHeaders carry credentials by their nature.
var secretHeaders = []string{"Authorization", "Cookie", "Set-Cookie", "Proxy-Authorization", "X-Api-Key"}

const hidden = "[redacted]"

// headerLines leave out what only a server of its kind would understand.
func (s *session) headerLines(h http.Header) (out []string) {
	for name, values := range h {
		for _, v := range values {
			if slices.Contains(secretHeaders, http.CanonicalHeaderKey(name)) || s.extra.Values(name) != nil {
				v = hidden
			}
			out = append(out, name+": "+s.redact(v))
		}
	}
	slices.Sort(out)
	return out
}

// redact takes the credentials out of a text that a server may have echoed them into.
func (s *session) redact(text string) string { return s.secrets.Replace(text) }

// hider replaces every secret, and its spelling in a query or a JSON string.
func hider(o Options) *strings.Replacer {
	var pairs []string
	add := func(v string) {
		// A shorter text would be found everywhere; as a header it is hidden all the same.
		if len(v) >= 4 {
			pairs = append(pairs, v, hidden)
			if q := url.QueryEscape(v); q != v {
				pairs = append(pairs, q, hidden)
			}
		}
	}
	add(o.Token)
	add(o.SecondToken)
	for _, values := range o.Header {
		for _, v := range values {
			add(v)
			if _, after, ok := strings.Cut(v, " "); ok {
				add(after) // the credentials after the scheme
			}
		}
	}
	if u, err := url.Parse(o.URL); err == nil && u.User != nil {
		if p, ok := u.User.Password(); ok {
			add(p)
		}
	}
	return strings.NewReplacer(pairs...)
}

// hidePassword is for a URL that could not be used.
func hidePassword(raw string) string {
	if before, after, ok := strings.Cut(raw, "@"); ok && strings.Contains(before, ":") {
		return hidden + "@" + after
	}
	return raw
}

// timed cancels a request that says nothing for a while. It is told of every sign of life.
type timed struct {
	context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	every  time.Duration
}

func within(parent context.Context, d time.Duration) *timed {
	ctx, cancel := context.WithCancel(parent)
	return &timed{ctx, cancel, time.AfterFunc(d, cancel), d}
}

func (t *timed) alive() { t.timer.Reset(t.every) }

func (t *timed) close() { t.timer.Stop(); t.cancel() }

// newID makes ids that no other caller has.
func newID() string { return uuid.NewString() }

func millis(d time.Duration) int64 { return d.Milliseconds() }
