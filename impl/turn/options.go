package turn

import (
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// Options is what an engine is made of. Driver and Journal are required.
type Options struct {
	Driver  Driver
	Journal Journal
	Logger  *slog.Logger // nil: slog.Default()

	// InputTimeout bounds how long a question stays open; then the task fails. 0: for ever.
	InputTimeout time.Duration
	// SilenceTimeout bounds how long an agent that is not waiting for a person may
	// say nothing; then the task fails. 0: for ever.
	SilenceTimeout time.Duration
	// CancelGrace is how long a turn whose task has ended may take to return before
	// its context ends. 0: 30 seconds.
	CancelGrace time.Duration
	// MaxLogBytes bounds the frames one task keeps for its readers. Above half of it
	// chunks are held until 1 KiB has gathered; a task that needs more fails. 0: 32 MiB.
	MaxLogBytes int

	Artifacts Artifacts

	Observe Observer // nil: nobody is told

	Now   func() time.Time // of timestamps; nil: time.Now
	NewID func() string    // nil: UUIDv7
}

// Artifacts bounds what a turn publishes. Every bound degrades with a note that the client sees.
type Artifacts struct {
	MaxFileBytes       int // of a file sent inline; 0: never inline
	MaxToolOutputBytes int // of one tool result, text and structured part each; 0: no bound
	MaxTaskBytes       int // of a task's artifacts, the answer apart; 0: no bound
	MaxAnswerBytes     int // of the answer's text; 0: no bound

	// FileBaseDir confines the files that tool results report. Empty: none is published.
	FileBaseDir string
	// FileSources names, for a tool, the members of its structured output that hold
	// the path of a file it wrote.
	FileSources map[string][]string
}

// DefaultArtifacts returns the bounds that apply where nothing is configured.
func DefaultArtifacts() Artifacts {
	return Artifacts{
		MaxFileBytes:       256 << 10,
		MaxToolOutputBytes: 16 << 10,
		MaxTaskBytes:       1 << 20,
		MaxAnswerBytes:     8 << 20,
		FileSources:        map[string][]string{"write_file": {"path"}},
	}
}

const (
	defaultCancelGrace = 30 * time.Second
	defaultMaxLogBytes = 32 << 20
)

// fill puts defaults in place of zero values.
func (o *Options) fill() {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.CancelGrace <= 0 {
		o.CancelGrace = defaultCancelGrace
	}
	if o.MaxLogBytes <= 0 {
		o.MaxLogBytes = defaultMaxLogBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }
