package flow

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow/expr"
)

// A Pos is a place in a file, both from 1. Columns count characters, not bytes.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// A File is what a flow file says. It is made by [Parse], with its settings already
// put in; whoever has a flow in another form writes it as such a file. It is not
// changed afterwards.
type File struct {
	// Name is the file's, as it stands in errors.
	Name string
	// App and Version are the file's name and version: labels of its metrics.
	App, Version string
	Doc          string

	// All are in the order of the file.
	Settings []*Setting
	Messages []*Message
	Methods  []*Method
	Triggers []*Trigger
	Flows    []*Flow

	src *source
}

// Flow returns the flow of a name, or nil.
func (f *File) Flow(name string) *Flow { return byName(f.Flows, name) }

// Method returns the method of a name, or nil.
func (f *File) Method(name string) *Method { return byName(f.Methods, name) }

// Message returns the message of a name, or nil.
func (f *File) Message(name string) *Message { return byName(f.Messages, name) }

// A Setting is a constant that whoever runs the file can set to another value.
type Setting struct {
	Pos  Pos
	Name string
	// Value is a string, bool, int64, float64, and Default the value that the file gives it.
	Value, Default any
}

// A Message is the type of a request or a reply, or of a field of one.
type Message struct {
	Pos Pos
	// Name is the protobuf name, such as hello.GreetRequest.
	Name   string
	Fields []*Field
}

// A Field is one of a message.
type Field struct {
	Pos    Pos
	Name   string
	Number int
	Label  Label
	// Scalar is the type of the value, of the values of a map, or of the elements;
	// of a message it is Message, and Of the message.
	Scalar Scalar
	Of     *Message
}

// A Label says how many values a field has.
type Label uint8

// The labels of fields.
const (
	Single   Label = iota
	Optional       // may be absent
	Repeated       // a list
	MapOf          // a map whose keys are strings
)

// A Scalar is the type of a single value, with protobuf's name.
type Scalar string

// The types of values.
const (
	Bool        Scalar = "bool"
	Int32       Scalar = "int32"
	Int64       Scalar = "int64"
	Uint32      Scalar = "uint32"
	Uint64      Scalar = "uint64"
	Float       Scalar = "float"
	Double      Scalar = "double"
	String      Scalar = "string"
	Bytes       Scalar = "bytes"
	Timestamp   Scalar = "timestamp"
	Duration    Scalar = "duration"
	Any         Scalar = "any"
	MessageType Scalar = "message"
)

// A Method is what triggers serve and steps invoke.
type Method struct {
	Pos Pos
	// Name is the full name, such as hello.Hello/Greet.
	Name string
	Doc  string
	// Request and Reply are nil for documents: any value.
	Request, Reply *Message
	// Verb and Path are the method's REST route beside the default one, or "".
	Verb, Path  string
	RoutePos    Pos
	Idempotency everywire.Idempotency
}

// A Trigger starts runs of a flow. One of Timer and Service is set.
type Trigger struct {
	Pos  Pos
	Name string
	Flow *Flow
	// FlowPos is where the flow's name stands.
	FlowPos Pos
	// With are the flow's inputs that the trigger gives.
	With []Member
	// Limit is how many runs of the trigger may be under way at once.
	Limit   int
	Timer   *Timer
	Service *Service
}

// A Timer starts a run at each tick. Ticks are at After, After + Every, After + 2
// Every … since the start, however late one of them was.
type Timer struct {
	Pos          Pos
	Every, After time.Duration
	// Count is how many ticks there are, 0 for no end.
	Count   int
	Overlap Overlap
}

// An Overlap says what becomes of a tick while as many runs as may be are under way.
type Overlap uint8

// What becomes of a tick.
const (
	Skip     Overlap = iota // it is left out: one run at a time
	Queue                   // it waits for its turn: one run at a time
	Parallel                // it runs beside the others, up to the trigger's Limit
)

// overlaps are the words for them in files.
var overlaps = []string{"skip", "queue", "parallel"}

func (o Overlap) String() string { return overlaps[o] }

// A Service starts a run for each call of a method.
type Service struct {
	// On is the target that the method is served on.
	On    string
	OnPos Pos
	// Method is never nil in a file without errors.
	Method *Method
}

// A Flow is steps, one after the other.
type Flow struct {
	Pos  Pos
	Name string
	Doc  string
	// Timeout bounds a run; 0 is no bound.
	Timeout time.Duration
	Inputs  []*Input
	Steps   []*Step
}

// Input returns the input of a name, or nil.
func (f *Flow) Input(name string) *Input { return byName(f.Inputs, name) }

// An Input is a value that a run begins with.
type Input struct {
	Pos    Pos
	Name   string
	Label  Label
	Scalar Scalar
	Of     *Message
}

// A Step is one activity of a flow. Exactly one of the pointers after When is set.
type Step struct {
	Pos Pos
	// Name is the step's, or one that is made of its kind: log, log_2. It labels
	// metrics. Only a step that the file named can be referred to.
	Name  string
	Named bool
	// When is nil for a step that always runs.
	When *Expr

	Invoke   *Invoke
	Log      *Log
	Map      *Value
	Call     *Call
	Parallel []*Step
	Return   *Return

	slot int // where its result stands in a run's values, -1 if it has none
}

// Kind is the word that stands for the step in the file: invoke, log …
func (s *Step) Kind() string {
	switch {
	case s.Invoke != nil:
		return "invoke"
	case s.Log != nil:
		return "log"
	case s.Map != nil:
		return "map"
	case s.Call != nil:
		return "flow"
	case s.Parallel != nil:
		return "parallel"
	}
	return "return"
}

// An Invoke calls a method on a target.
type Invoke struct {
	Target    string
	TargetPos Pos
	Method    *Method
	Request   *Value // nil is an empty one
	// Metadata are sent with the call.
	Metadata []Member
	Deadline time.Duration
	Retry    *Retry // nil: a call is made once
}

// A Retry says which calls are made again: package resilience has the rules.
type Retry struct {
	Pos                                 Pos
	Attempts                            int
	Backoff, MaxBackoff, AttemptTimeout time.Duration
	Codes                               []codes.Code
}

// A Log writes a record.
type Log struct {
	Message *Value
	Level   string // debug, info, warn or error
	Fields  []Member
}

// A Call runs another flow.
type Call struct {
	Flow    *Flow
	FlowPos Pos
	With    []Member
}

// A Return ends the run: with a reply, or, if Code is not OK, with an error.
type Return struct {
	Reply   *Value // nil is an empty one
	Code    codes.Code
	Message *Value
}

// A Value is what makes a value. The kind says which of the other fields is set.
type Value struct {
	Pos  Pos
	Kind ValueKind
	// Const is nil, bool, int64, uint64, float64 or string.
	Const any
	Expr  *Expr
	Parts []Part
	// Members are those of an object, Items those of a list.
	Members []Member
	Items   []*Value
}

// A ValueKind is how a value is made.
type ValueKind uint8

// The kinds of values.
const (
	Constant ValueKind = iota
	Computed           // of one expression, whose type the value has
	Text               // of texts and expressions, one after the other
	Object
	List
)

// A Member is a name with a value.
type Member struct {
	Pos   Pos
	Name  string
	Value *Value
}

// A Part is one of a text: Expr is nil for what stands there as it is.
type Part struct {
	Text string
	Expr *Expr
}

// An Expr is an expression of the file.
type Expr struct {
	// Pos is where its first character stands.
	Pos Pos
	// Text is the expression without the marks around it.
	Text string

	parsed *expr.Expr
	prog   *expr.Program
	place  func(offset int) Pos
}

// named is what has a name.
type named interface {
	comparable
	name() string
}

func (s *Setting) name() string { return s.Name }
func (m *Message) name() string { return m.Name }
func (f *Field) name() string   { return f.Name }
func (m *Method) name() string  { return m.Name }
func (t *Trigger) name() string { return t.Name }
func (f *Flow) name() string    { return f.Name }
func (i *Input) name() string   { return i.Name }

// byName finds a thing by its name.
func byName[T named](all []T, name string) T {
	for _, x := range all {
		if x.name() == name {
			return x
		}
	}
	var none T
	return none
}

// namesOf lists names.
func namesOf[T named](all []T) []string {
	names := make([]string, len(all))
	for i, x := range all {
		names[i] = x.name()
	}
	return names
}
