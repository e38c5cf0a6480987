package card

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// MaxBytes bounds a card that is read to be checked.
const MaxBytes = 1 << 20

// fetchTimeout bounds a fetch as a whole.
const fetchTimeout = 10 * time.Second

// Load reads a card to be checked, from a file (JSON or YAML) or from an http or https URL;
// a URL without a path stands for the well-known one. What the way of serving it says
// of a card is in the findings.
func Load(ctx context.Context, source string) (doc []byte, found []Finding, err error) {
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		return fetch(ctx, source)
	}
	f, err := os.Open(source)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if doc, err = bounded(f); err != nil {
		return nil, nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(string(doc)), "{") {
		return doc, nil, nil
	}
	doc, err = yaml.YAMLToJSON(doc)
	return doc, nil, err
}

var (
	errTooLarge   = fmt.Errorf("larger than %d bytes", MaxBytes)
	errElsewhere  = errors.New("it redirects to another server, which is not followed: a card is about its own")
	errRoundabout = errors.New("too many redirections")
)

func bounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err == nil && len(b) > MaxBytes {
		err = errTooLarge
	}
	return b, err
}

func fetch(ctx context.Context, source string) ([]byte, []Finding, error) {
	u, err := url.Parse(source)
	if err != nil {
		return nil, nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = Path
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	client := &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			switch {
			case next.URL.Host != u.Host || next.URL.Scheme != u.Scheme:
				return errElsewhere
			case len(via) >= 5:
				return errRoundabout
			}
			return nil
		},
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s answers %s", u, res.Status)
	}
	doc, err := bounded(res.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", u, err)
	}
	return doc, served(res.Header), nil
}

// served says what the headers lack (A2A §8.6.1, §14.3).
func served(h http.Header) (found []Finding) {
	if typ, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || typ != "application/json" && !strings.HasSuffix(typ, "+json") {
		found = append(found, Finding{Advice, "", fmt.Sprintf("served with Content-Type %.100q, where application/json is expected", h.Get("Content-Type"))})
	}
	if !strings.Contains(h.Get("Cache-Control"), "max-age") || h.Get("ETag") == "" {
		found = append(found, Finding{Note, "", "served without Cache-Control: max-age or ETag: clients fetch it anew each time"})
	}
	return found
}
