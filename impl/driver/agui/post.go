package agui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"

	"github.com/go-json-experiment/json"
)

// maxRedirects is how often a request may be sent on within the agent's host.
const maxRedirects = 3

// newClient has no time-out as a whole: a run may take hours. Compression is off, so that
// the bounds are those of what arrives.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxResponseHeaderBytes = 64 << 10
	t.MaxIdleConnsPerHost = 16
	return &http.Client{Transport: t, CheckRedirect: sameHost}
}

// sameHost follows a redirect that keeps the request and its receiver: messages and the
// token are for nobody else.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || r.Method != first.Method || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// errSlow is why a request ends that start_timeout has run out for.
var errSlow = errors.New("no event in time")

// post begins a run. The caller closes the stream. Errors are a *a2a.Error whose text is
// for clients and whose cause is for the log.
func (d *Driver) post(ctx context.Context, in *wire.RunAgentInput, traceparent string) (io.ReadCloser, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, a2a.InternalError.Errorf("The message could not be sent to the agent").Because(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, a2a.InternalError.Errorf("The agent could not be reached").Because(withoutAddress(err))
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if d.o.Token != "" {
		r.Header.Set("Authorization", "Bearer "+d.o.Token)
	}
	if traceparent != "" {
		r.Header.Set("Traceparent", traceparent)
	}
	resp, err := d.client.Do(r)
	if err != nil {
		return nil, d.broken(ctx, "The agent could not be reached", err)
	}
	if err := refused(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}

// broken is a connection's end, with start_timeout told from the rest.
func (d *Driver) broken(ctx context.Context, said string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSlow) {
		return a2a.UnavailableError.Errorf("The agent did not begin within %s", d.o.StartTimeout).Because(cause)
	}
	return a2a.UnavailableError.Errorf("%s", said).Because(withoutAddress(err))
}

// withoutAddress drops the URL from an error: its query may hold a key.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refused says what is wrong with a reply that is no stream of events. Its body is not
// for clients, and only its beginning for the log.
func refused(resp *http.Response) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	said := "The agent refused the message"
	switch code := resp.StatusCode; {
	case code == http.StatusOK && media == "text/event-stream":
		return nil
	case code == http.StatusOK:
		said = "The agent's reply is no stream of events"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		said = "The agent does not accept the server's credentials"
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		said = "The agent is busy"
	case code/100 == 3:
		said = "The agent has moved to another address"
	}
	// A body that does not come must not hold the turn up: what has to be said is known.
	stop := time.AfterFunc(time.Second, func() { _ = resp.Body.Close() })
	defer stop.Stop()
	begin, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	return a2a.UnavailableError.Errorf("%s", said).Because(
		fmt.Errorf("HTTP status %d, media type %q: %q", resp.StatusCode, media, begin))
}
