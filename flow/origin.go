package flow

// An origin is the file that a flow file was made from.
type origin struct {
	*source
	place func(Pos) (at Pos, path string)
}

// ParseMade reads a flow file that was made from a file of another form, such as
// package flogo makes it. Errors are then told for the place in that file that a
// place in the flow file stands for, with its path ([Error]): name and written are that
// file's, and made, which must be UTF-8, is the flow file. Else it is [Parse].
func ParseMade(name string, written, made []byte, place func(Pos) (at Pos, path string), set ...Assignment) (*File, error) {
	s := newSource(name, string(made))
	s.from = &origin{newSource(name, string(written)), place}
	return s.parse(made, set)
}
