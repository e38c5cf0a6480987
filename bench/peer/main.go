// Command peer is an agent on the official Go SDK, with its store in memory: what
// the benchmarks hold this server against. It emits the events of a2aserve's demo agent.
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// echo answers with what it was told: SUBMITTED, WORKING, one artifact, COMPLETED.
type echo struct{}

func (echo) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := ec.Message.Parts[0].Text()
		if yield(a2a.NewSubmittedTask(ec, ec.Message), nil) && yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), nil) && answer(ec, text, yield) {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
		}
	}
}

// answer is the text without its first word, or, for "chunks N MS TEXT", N pieces.
func answer(ec *a2asrv.ExecutorContext, text string, yield func(a2a.Event, error) bool) bool {
	words := strings.SplitN(text, " ", 4)
	if words[0] != "chunks" || len(words) < 4 {
		_, rest, _ := strings.Cut(text, " ")
		return yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart(rest)), nil)
	}
	n, _ := strconv.Atoi(words[1])
	var id a2a.ArtifactID
	for i := range n {
		e := a2a.NewArtifactEvent(ec, a2a.NewTextPart(strconv.Itoa(i+1)+words[3]))
		if i > 0 {
			e = a2a.NewArtifactUpdateEvent(ec, id, a2a.NewTextPart(strconv.Itoa(i+1)+words[3]))
		}
		if id = e.Artifact.ID; !yield(e, nil) {
			return false
		}
	}
	return true
}

func (echo) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func main() {
	addr := flag.String("bind", "127.0.0.1:0", "address")
	bare := flag.String("bare", "", "file whose bytes answer everything: what net/http itself can do")
	park := flag.Bool("park", false, "send each caller one event, and nothing more")
	flag.Parse()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	h := a2asrv.NewHandler(echo{})
	mux := http.NewServeMux()
	mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(h))
	mux.Handle("/a2a/v1/", http.StripPrefix("/a2a/v1", a2asrv.NewRESTHandler(h)))
	var all http.Handler = mux
	if *bare != "" {
		b, err := os.ReadFile(*bare)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		all = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/a2a+json")
			_, _ = w.Write(b)
		})
	}
	if *park {
		all = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
			if r.URL.Path == "/park" {
				<-r.Context().Done()
			}
		})
	}
	fmt.Printf("http://%s\n", l.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(l, all))
	os.Exit(1)
}
