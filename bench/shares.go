package main

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/decode"
)

const (
	plain   = "a2aserve, plain"
	reading = "of it, reading and validating the request"
)

// shares: what parts of a turn cost, by leaving them out or putting them in. Validation
// cannot be left out; it is timed by itself and held against the turn's processor time.
func (b *bench) shares() error {
	const title = "cost of parts, blocking send at 64 clients"
	if !b.wanted(title) {
		return nil
	}
	servers, of := map[string]*target{}, calls{}
	for name, more := range map[string]string{
		plain:                        "",
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
		servers[name], of[name] = t, blocking(t)
	}
	turns, took := b.measure(title, "turns/s", ""), b.measure("processor time of a turn, blocking send at 64 clients", "µs", "validation at most 15 %")
	took.less = true
	for range b.o.rounds {
		for _, name := range sorted(of) {
			before, err := servers[name].cpu()
			if err != nil {
				return err
			}
			began := time.Now()
			v, err := b.rate(64, of[name])
			done := v * time.Since(began).Seconds() // more than a round's, since the last turns are waited for
			if err != nil {
				return fmt.Errorf("%s on %s: %w", title, name, err)
			}
			after, err := servers[name].cpu()
			if err != nil {
				return err
			}
			turns.add(name, v)
			took.add(name, float64((after-before).Microseconds())/done)
		}
		v, err := validation()
		if err != nil {
			return err
		}
		took.add(reading, v)
	}
	took.Note = sharesOf(took)
	return nil
}

// validation is what reading, validating and decoding the request of a turn takes, in µs.
func validation() (float64, error) {
	doc := message(contextOf(0), echo)
	var err error
	r := testing.Benchmark(func(tb *testing.B) {
		for tb.Loop() {
			var req a2a.SendMessageRequest
			err = errors.Join(err, decode.Decode(decode.Input{Def: "SendMessageRequest", JSON: doc}, &req))
		}
	})
	return float64(r.T.Microseconds()) / float64(r.N), err
}

// sharesOf says what each part adds to the processor time of a turn without it.
func sharesOf(m *measure) string {
	whole := median(m.Took[plain])
	note := fmt.Sprintf("Of a turn's processor time, reading and validating its request is %.1f %%.", 100*median(m.Took[reading])/whole)
	for _, name := range sorted(m.Took) {
		if name != plain && name != reading {
			note += fmt.Sprintf(" %s: %+.1f %%.", name, 100*(median(m.Took[name])/whole-1))
		}
	}
	return note
}

// bearer sends a token, which a server without authentication does not look at.
type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header["Authorization"] = []string{"Bearer " + benchToken}
	return b.RoundTripper.RoundTrip(r)
}

const benchToken = "a-token-that-is-long-enough-for-a-benchmark"
