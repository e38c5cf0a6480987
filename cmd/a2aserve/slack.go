package main

import "os"

// slackBytes is what the heap may grow by between two collections, beyond what it holds. A
// server that holds a few MiB makes as much garbage in a few milliseconds, and would spend
// a tenth of its processors on collecting it.
const slackBytes = 32 << 20

// slack is kept alive as long as the server runs and never touched: the collector counts
// it, and no memory stands behind it. Where the operator has set the collector's pace it
// is nothing.
func slack() []byte {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if os.Getenv(name) != "" {
			return nil
		}
	}
	return make([]byte, slackBytes)
}
