package main

import (
	"net/http"
	"path/filepath"
)

// shares: what parts of a turn cost, by leaving them out or putting them in.
func (b *bench) shares() error {
	const title = "cost of parts, blocking send at 64 clients"
	if !b.wanted(title) {
		return nil
	}
	of := calls{}
	for name, more := range map[string]string{
		"a2aserve, plain":            "",
		"a2aserve, with a token":     "auth: {validators: [{type: static, tokens: [{token_env: BENCH_TOKEN, principal: bench}]}]}\n",
		"a2aserve, with the log":     "log: {level: info}\n",
		"a2aserve, with the metrics": "admin: {bind: 127.0.0.1:0}\n",
	} {
		t, err := b.ours(filepath.Join(b.dir, "share"+name+".db"), more)
		if err != nil {
			return err
		}
		defer t.stop()
		t.http.Transport = bearer{t.http.Transport}
		of[name] = blocking(t)
	}
	return b.rounds(b.measure(title, "turns/s", ""), 64, of)
}

// bearer sends a token, which a server without authentication does not look at.
type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header["Authorization"] = []string{"Bearer " + benchToken}
	return b.RoundTripper.RoundTrip(r)
}

const benchToken = "a-token-that-is-long-enough-for-a-benchmark"
