package codecs

import "time"

// Wide has numbers, texts, lists, maps and messages; widepb has what protobuf's
// compiler makes of the same.
type Wide struct {
	ID       uint64            `wire:"1"`
	Name     string            `wire:"2"`
	Active   bool              `wire:"3"`
	Score    float64           `wire:"4"`
	Parent   *int64            `wire:"5"`
	Note     *string           `wire:"6"`
	Created  time.Time         `wire:"7"`
	Timeout  time.Duration     `wire:"8"`
	Location *Point            `wire:"9"`
	Items    []Item            `wire:"10"`
	Numbers  []int64           `wire:"11"`
	Samples  []float64         `wire:"12"`
	Tags     []string          `wire:"13"`
	Labels   map[string]string `wire:"14"`
	Counts   map[string]int64  `wire:"15"`
	Points   map[int32]*Point  `wire:"16"`
	Data     []byte            `wire:"17"`
	Level    int32             `wire:"18"`
}

// Item is a message of a list.
type Item struct {
	Name     string  `wire:"1"`
	Quantity int64   `wire:"2"`
	Path     []Point `wire:"3"`
}
