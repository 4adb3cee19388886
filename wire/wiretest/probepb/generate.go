package probepb

// This one line generates the code of every .proto file in the repository.
//go:generate go -C ../../../tools run ./gen
