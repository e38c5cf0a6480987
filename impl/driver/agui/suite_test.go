package agui_test

import (
	"maps"
	"testing"

	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// TestSuite runs the suite against an agent that does everything that AG-UI has means for,
// and against one with the faults of the recorded one (recorded_test.go shows what comes of
// those).
func TestSuite(t *testing.T) {
	const (
		textOnly = "AG-UI carries text in both directions, and what tools say"
		noAuth   = "an AG-UI agent cannot ask for an authorisation"
		oneError = "the only error that AG-UI has ends the run"
	)
	except := map[string]string{
		"chunks":            textOnly + "; pieces of it are gathered as the server likes",
		"several artifacts": textOnly, "parts": textOnly, "file": textOnly,
		"tool error":    "the result of a tool says nothing of a failure",
		"usage":         "AG-UI does not carry it",
		"authorisation": noAuth, "cancel/unauthorised": noAuth, "stop/unauthorised": noAuth, "crash/auth": noAuth,
		"failure/declined": oneError, "failure/survived": oneError,
	}
	t.Run("per context", func(t *testing.T) {
		drivertest.Suite(t, drivertest.Subject{
			New: func(t *testing.T, _ string) turn.Driver { return newAgent(t, nil).driver(t, nil) },
			Rest: func(t *testing.T) (turn.Driver, func()) {
				a := newAgent(t, nil)
				return a.driver(t, nil), a.CloseClientConnections
			},
			Except: except,
		})
	})
	t.Run("recorded", func(t *testing.T) {
		const (
			one   = "the agent has one conversation"
			mixes = "a turn that nobody listens to goes on, and speaks into the next run"
		)
		except := maps.Clone(except)
		maps.Copy(except, map[string]string{
			"side by side": one, "memory": one, "isolation": one,
			"failure/fatal":      "a failed model call is a text, and then the run never ends: TestRecordedProviderError",
			"cancel/queued/next": mixes, "cancel/in chunks/next": mixes, "cancel/in a flood/next": mixes, "cancel/deaf/next": mixes,
			"cancel/while it ends/next": mixes, "cancel/in vain/next": mixes, "nothing after/next": mixes, "flood/endless/next": mixes,
		})
		drivertest.Suite(t, drivertest.Subject{
			New: func(t *testing.T, _ string) turn.Driver { return newRecorded(t).single(t) },
			Rest: func(t *testing.T) (turn.Driver, func()) {
				a := newRecorded(t)
				return a.single(t), a.CloseClientConnections
			},
			Except: except,
			Lags:   "it takes a client for present until it notices that the connection is closed",
		})
	})
}
