package specgen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// tables are the hand-written files under spec/: what the descriptor does not say.
// In all of them section is one of the specification, or "ours" with a why.
type tables struct {
	Descriptions descriptions
	Constraints  constraints
	Errors       []errorRow
	Capabilities []capabilityRow
	Operations   []operationRow
	States       []stateRow
	Transitions  []transitionRow
	Stored       stored
}

// descriptions are our own sentences, by the names of the wire.
type descriptions struct {
	// Common has fields that mean the same wherever they occur.
	Common     map[string]string
	Messages   map[string]described
	Enums      map[string]described
	Operations map[string]description
}

// described is a message with its fields, or an enum with its values.
type described struct {
	About  string
	Fields map[string]string
	Values map[string]string
}

// description is what OpenAPI says of an operation.
type description struct {
	Summary, About string
}

// constraints are bounds and rules that only the prose has.
type constraints struct {
	// Fields are named "Message.field_name", in proto spelling.
	Fields map[string]fieldRule
	// Oneofs are named "Message.oneof_name".
	Oneofs map[string]oneofRule
}

// fieldRule narrows one field.
type fieldRule struct {
	Minimum *int64
	Maximum *int64
	Pattern string
	// MayBeEmpty: the field is required, yet an empty array or string is valid.
	MayBeEmpty bool `yaml:"may_be_empty"`
	Section    string
	Why        string
}

// oneofRule says how many members are set. The one rule so far is exactly_one.
type oneofRule struct {
	Rule    string
	Section string
	Why     string
}

// errorRow is an error as both bindings show it.
type errorRow struct {
	Name    string
	Code    int
	HTTP    int `yaml:"http"`
	Status  string
	Reason  string
	Domain  string
	Message string
	// Refusal: of the transport, so JSON-RPC answers with the HTTP status too.
	Refusal bool
	// On is "all" where any operation may answer it, "body" where those with a body
	// may, and empty where only those that list it do.
	On      string
	Section string
	Why     string
}

// capabilityRow says which operations need a capability of the card.
type capabilityRow struct {
	// Capability is a field of AgentCapabilities.
	Capability string
	Operations []string
	// Error is what they answer without it.
	Error   string
	Section string
}

// operationRow is what the prose says of an operation.
type operationRow struct {
	Name     string
	Section  string
	AltVerbs []altVerb `yaml:"alt_verbs"`
	// Access is read, send or cancel: what a caller must be allowed.
	Access string
	// Errors are its own, besides those of every operation.
	Errors []string
}

// altVerb is a verb that the prose names and the descriptor does not.
type altVerb struct {
	Verb, Section, Why string
}

// stateRow is a state of a task. Its class is active, interrupted or terminal.
type stateRow struct {
	Name    string
	Class   string
	Section string
	Why     string
}

// transitionRow lets a task go from any of some states to another. "new" is before
// the task exists.
type transitionRow struct {
	From    []string
	To      string
	Section string
	Why     string
}

// stored says what outlives the process: columns by the message or enum in them, and
// keys of the configuration that name files.
type stored struct {
	Documents, Codes, Files map[string][]string
}

// loadTables reads the tables. A key that no table has is an error.
func loadTables(root string) (*tables, error) {
	var t tables
	read := func(name string, into any) error {
		b, err := os.ReadFile(filepath.Join(root, "spec", name))
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalWithOptions(b, into, yaml.Strict()); err != nil {
			return fmt.Errorf("spec/%s: %s", name, yaml.FormatError(err, false, true))
		}
		return nil
	}
	var errorFile struct{ Errors []errorRow }
	var capabilityFile struct{ Capabilities []capabilityRow }
	var operationFile struct{ Operations []operationRow }
	var stateFile struct {
		States      []stateRow
		Transitions []transitionRow
	}
	err := errors.Join(
		read("descriptions.yaml", &t.Descriptions), read("constraints.yaml", &t.Constraints),
		read("errors.yaml", &errorFile), read("capabilities.yaml", &capabilityFile),
		read("operations.yaml", &operationFile), read("states.yaml", &stateFile),
		read("stored.yaml", &t.Stored),
	)
	t.Errors, t.Capabilities, t.Operations = errorFile.Errors, capabilityFile.Capabilities, operationFile.Operations
	t.States, t.Transitions = stateFile.States, stateFile.Transitions
	return &t, err
}

// errorNamed returns an error's row, or nil.
func (t *tables) errorNamed(name string) *errorRow {
	for i := range t.Errors {
		if t.Errors[i].Name == name {
			return &t.Errors[i]
		}
	}
	return nil
}

// operation returns an operation's row, or nil.
func (t *tables) operation(name string) *operationRow {
	for i := range t.Operations {
		if t.Operations[i].Name == name {
			return &t.Operations[i]
		}
	}
	return nil
}

// capabilityOf returns the row that an operation depends on, or nil.
func (t *tables) capabilityOf(operation string) *capabilityRow {
	for i := range t.Capabilities {
		for _, o := range t.Capabilities[i].Operations {
			if o == operation {
				return &t.Capabilities[i]
			}
		}
	}
	return nil
}

// problems collects what is wrong, so that one run names all of it.
type problems []string

// add notes one more.
func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// err is all of them, a line each, or nil.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return errors.New(strings.Join(p, "\n"))
}
