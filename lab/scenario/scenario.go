package scenario

import (
	"github.com/everywire/everywire/lab/data"
)

// A Text is a template's text, and where it is from.
type Text struct {
	Text string
	From data.Origin
}

// A File is what callers do. The command's own flags make one, too, of one
// operation.
type File struct {
	// Data is the table that rows are taken of, nil for none.
	Data *Data
	// Set are variables that get values when a caller takes a row: before each
	// session, or before each call if operations have weights.
	Set []Field
	// Headers go with every operation.
	Headers    []Field
	Operations []Operation
	// Weighted is set if each call is any operation, as often as its weight says.
	// Else a caller makes sessions: all operations in their order, each as often as
	// its count says.
	Weighted bool
}

// Data is a table of values.
type Data struct {
	File  Text
	Order data.Order
}

// A Field is a name and a template: a header, a variable.
type Field struct {
	Name  string
	Value Text
}

// An Operation is one kind of call.
type Operation struct {
	// Name is what reports call it.
	Name string
	// Method is a method of the service; at an http target a method of HTTP.
	Method Text
	// Path is an http target's, with its query; "" is the target's own.
	Path Text
	// Body is the request. Scalars are the templates within a body that was written
	// in YAML, each with its own place: it is for their errors alone.
	Body    *Text
	Scalars []Text
	Headers []Field
	Set     []Field
	// Weight is 0 in a file whose operations have none; Count is at least 1.
	Weight, Count int
	Expect        Expect
	Extract       []Extract
	// From is where the operation stands.
	From data.Origin
}

// Expect says which reply is right.
type Expect struct {
	// Status are those of HTTP, or names of status codes. None stands for 2xx, and OK.
	Status []Text
	JSON   []Check
}

// A Check is a value that the reply must have.
type Check struct {
	Path  data.Path
	Value Text
}

// Extract takes a value of the reply into a variable.
type Extract struct {
	Name string
	Path data.Path
}
