// Command embedding serves an agent of its own over the Agent2Agent protocol. The agent
// greets people by name, and asks for the name when it does not know it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"sync"
	"syscall"

	"a2aserve"
	"a2aserve/gen/event"
)

// greeter is the agent. Its handlers run on the goroutine of whoever emits: the server runs
// a whole turn inside the emission of io.input, and tells an answer from another goroutine.
type greeter struct {
	bus *a2aserve.Bus

	mu      sync.Mutex // guards what follows
	name    string
	waiting map[string]chan string // by the task that asked
}

func (g *greeter) turn(in event.Input) {
	turn := in.TaskID // any id will do that no other turn has
	g.bus.Emit(event.TurnStart{TurnID: turn, TaskID: in.TaskID})
	defer g.bus.Emit(event.TurnEnd{TurnID: turn})
	g.mu.Lock()
	name, answer := g.name, make(chan string, 1)
	g.waiting[in.TaskID] = answer
	g.mu.Unlock()
	if name == "" {
		g.bus.Emit(event.HITLRequested{TurnID: turn, RequestID: in.TaskID, Prompt: "What is your name?"})
		if name = <-answer; name == "" { // nobody will answer: stop, and say so
			g.bus.Emit(event.CancelComplete{TurnID: turn})
			return
		}
	}
	g.bus.Emit(event.Output{TurnID: turn, Role: "assistant", Content: "Hello, " + name + "! You said: " + in.Text})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.name = name
	delete(g.waiting, in.TaskID)
}

// hear lets a turn go on that waits for an answer.
func (g *greeter) hear(task, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case g.waiting[task] <- name:
	default: // it does not wait any more
	}
}

func main() {
	cfg := a2aserve.DefaultConfig()
	flag.StringVar(&cfg.Bind, "bind", cfg.Bind, "`host:port` to listen on")
	flag.StringVar(&cfg.Store.Path, "db", "greeter.db", "`path` of the database")
	session := flag.String("session", "greeter-1", "`id` of the agent's only conversation")
	flag.Parse()
	cfg.Card = &a2aserve.Card{
		Name: "Greeter", Description: "Greets people by name.", Version: "1.0.0",
		Skills: []a2aserve.Skill{{ID: "greet", Name: "Greet", Description: "Says hello.", Tags: []string{"greeting"}}},
	}

	bus := a2aserve.NewBus(nil)
	g := &greeter{bus: bus, waiting: map[string]chan string{}}
	a2aserve.On(bus, g.turn)
	a2aserve.On(bus, func(e event.HITLResponded) { g.hear(e.RequestID, e.FreeText) })
	a2aserve.On(bus, func(e event.CancelRequest) { g.hear(e.TaskID, "") })
	agent := a2aserve.OnBus(bus, a2aserve.Agent{SessionID: *session, Nested: true})

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server, err := a2aserve.New(ctx, cfg, a2aserve.Options{Driver: agent})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("serving", server.URL())
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
