package source

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
)

// Set reads the services of a set of descriptors, in its order.
func Set(text []byte) ([]*everywire.Method, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(text, &set); err != nil || len(set.GetFile()) == 0 {
		return nil, mistake("it is neither a .proto file nor a google.protobuf.FileDescriptorSet, as protoc --include_imports -o FILE makes it")
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	all := make([]protoreflect.FileDescriptor, len(set.GetFile()))
	for i, f := range set.GetFile() {
		if all[i], err = files.FindFileByPath(f.GetName()); err != nil {
			return nil, err
		}
	}
	return methodsOf(all)
}
