package schema

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// A ServiceDesc describes one service to [Files].
type ServiceDesc struct {
	// Name is the full protobuf name, such as "arith.Arith".
	Name string
	// Methods are the service's methods, in the order of their definition.
	Methods []MethodDesc
	// Desc is the descriptor of a generated service. When it is set nothing is
	// derived for the service: its own file is taken, and Methods is ignored.
	Desc protoreflect.ServiceDescriptor
}

// A MethodDesc describes one method of a [ServiceDesc].
type MethodDesc struct {
	// Name is the method's own name, such as "Sum".
	Name string
	// Input and Output describe the messages. A method for which either is
	// nil, because its types are not known, is left out.
	Input, Output *Message
	// ClientStreaming and ServerStreaming say which sides stream.
	ClientStreaming, ServerStreaming bool
	// Options are the method's options, such as idempotency_level. The file that
	// an extension among them is defined in is imported. Nil is none.
	Options *descriptorpb.MethodOptions
	// Doc is the method's comment; none if empty.
	Doc string
}

// A FileSet is what [Files] derives.
type FileSet struct {
	// Files resolves names and paths of the derived files, of the files of
	// generated services, and of all that either imports. It is a resolver for
	// gRPC reflection, with types from dynamicpb.
	Files *protoregistry.Files
	// Derived are the files that did not exist before, one a protobuf package,
	// each after the derived files that it imports.
	Derived []protoreflect.FileDescriptor
}

// Files derives protobuf files (syntax proto3) for services on plain structs:
// one file for each protobuf package, with the package's services and with all
// messages that the services refer to. Generated messages and the well-known
// types are imported from the files that they were generated from.
//
// A derived name may also exist in the program's global registry, for example
// when a generated client of the same service is linked in; the derived one
// takes its place in the set.
//
// What is documented, methods and fields, has its text as leading comment: the
// files have source code info of nothing else.
//
// It is an error if two Go types of the set have one protobuf name, or if a
// service or method has a name that protobuf does not allow.
func Files(services ...ServiceDesc) (*FileSet, error) {
	d := newDeriver()
	for _, s := range services {
		if s.Desc != nil {
			d.generated = append(d.generated, s.Desc.ParentFile())
			continue
		}
		if err := d.service(s); err != nil {
			return nil, err
		}
	}
	return d.build()
}

// Descriptor returns the message's protobuf descriptor: a generated message's
// own, google.protobuf.Value for a [Document], and for a plain struct one that
// is derived as [Files] does, from the struct and all that it refers to. It is
// cached and safe for concurrent use.
func (m *Message) Descriptor() (protoreflect.MessageDescriptor, error) {
	switch {
	case m.Desc != nil:
		return m.Desc, nil
	case m.Document:
		return (*structpb.Value)(nil).ProtoReflect().Descriptor(), nil
	}
	if desc, ok := descriptors.Load(m); ok {
		return desc.(protoreflect.MessageDescriptor), nil
	}
	d := newDeriver()
	if err := d.message(m); err != nil {
		return nil, err
	}
	set, err := d.build()
	if err != nil {
		return nil, err
	}
	found, err := set.Files.FindDescriptorByName(m.Name)
	if err != nil {
		return nil, fmt.Errorf("schema: %s: %w", m.Type, err)
	}
	desc, _ := descriptors.LoadOrStore(m, found)
	return desc.(protoreflect.MessageDescriptor), nil
}

var descriptors sync.Map // *Message -> protoreflect.MessageDescriptor

// A deriver collects messages and services by package and then builds files.
type deriver struct {
	packages  map[protoreflect.FullName]*packageFile
	messages  map[protoreflect.FullName]*Message
	generated []protoreflect.FileDescriptor // files to be in the set as they are
}

// A packageFile is one file in the making.
type packageFile struct {
	proto   *descriptorpb.FileDescriptorProto
	derived map[protoreflect.FullName]bool         // other packages of this set that it imports
	imports map[string]protoreflect.FileDescriptor // generated files that it imports
}

func newDeriver() *deriver {
	return &deriver{
		packages: map[protoreflect.FullName]*packageFile{},
		messages: map[protoreflect.FullName]*Message{},
	}
}

// build makes the descriptors, imported packages first.
func (d *deriver) build() (*FileSet, error) {
	set := &FileSet{Files: new(protoregistry.Files)}
	for _, f := range d.generated {
		if err := register(set.Files, f); err != nil {
			return nil, err
		}
	}
	names := make([]protoreflect.FullName, 0, len(d.packages))
	for name := range d.packages {
		names = append(names, name)
	}
	slices.Sort(names)
	done := map[protoreflect.FullName]bool{}
	for _, name := range names {
		if err := d.buildPackage(set, name, done, nil); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func (d *deriver) buildPackage(set *FileSet, name protoreflect.FullName, done map[protoreflect.FullName]bool, via []protoreflect.FullName) error {
	if done[name] {
		return nil
	}
	if slices.Contains(via, name) {
		return fmt.Errorf("schema: the protobuf packages %v refer to each other in a cycle, which protobuf files cannot: put the messages into one package by `_ struct{} `+\"`%s:\\\"name=PACKAGE.NAME\\\"`\"", append(via, name), tagKey)
	}
	via = append(via, name)
	p := d.packages[name]
	for _, f := range p.imports {
		if err := register(set.Files, f); err != nil {
			return err
		}
		p.proto.Dependency = append(p.proto.Dependency, f.Path())
	}
	for other := range p.derived {
		if err := d.buildPackage(set, other, done, via); err != nil {
			return err
		}
		p.proto.Dependency = append(p.proto.Dependency, d.packages[other].proto.GetName())
	}
	slices.Sort(p.proto.Dependency)
	file, err := protodesc.NewFile(p.proto, set.Files)
	if err != nil {
		return fmt.Errorf("schema: protobuf package %q: %w", name, err)
	}
	if err := set.Files.RegisterFile(file); err != nil {
		return fmt.Errorf("schema: protobuf package %q: %w", name, err)
	}
	set.Derived = append(set.Derived, file)
	done[name] = true
	return nil
}

// register adds a generated file and what it imports.
func register(files *protoregistry.Files, f protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(f.Path()); err == nil {
		return nil
	}
	imports := f.Imports()
	for i := range imports.Len() {
		if imp := imports.Get(i); !imp.IsPlaceholder() {
			if err := register(files, imp.FileDescriptor); err != nil {
				return err
			}
		}
	}
	if err := files.RegisterFile(f); err != nil {
		return fmt.Errorf("schema: %s: %w", f.Path(), err)
	}
	return nil
}

// file returns the file of a package that is derived.
func (d *deriver) file(pkg protoreflect.FullName) *packageFile {
	if p := d.packages[pkg]; p != nil {
		return p
	}
	// A folder of our own keeps the path apart from those of generated files.
	path := "everywire/" + strings.ReplaceAll(string(pkg), ".", "/") + ".proto"
	if pkg == "" {
		path = "everywire/_.proto"
	}
	syntax := "proto3"
	p := &packageFile{
		proto:   &descriptorpb.FileDescriptorProto{Name: &path, Syntax: &syntax},
		derived: map[protoreflect.FullName]bool{},
		imports: map[string]protoreflect.FileDescriptor{},
	}
	if pkg != "" {
		s := string(pkg)
		p.proto.Package = &s
	}
	d.packages[pkg] = p
	return p
}

// refer makes p import what the message m is in and returns its name as
// descriptors write it, with a leading dot.
func (d *deriver) refer(p *packageFile, m *Message) (*string, error) {
	if m.Desc == nil && !m.Document {
		if err := d.message(m); err != nil {
			return nil, err
		}
		if pkg := m.Name.Parent(); string(pkg) != p.proto.GetPackage() {
			p.derived[pkg] = true
		}
		name := "." + string(m.Name)
		return &name, nil
	}
	desc, err := m.Descriptor()
	if err != nil {
		return nil, err
	}
	if err := d.claim(m); err != nil {
		return nil, err
	}
	return p.importOf(desc), nil
}

func (p *packageFile) importOf(desc protoreflect.MessageDescriptor) *string {
	f := desc.ParentFile()
	p.imports[f.Path()] = f
	name := "." + string(desc.FullName())
	return &name
}

// claim takes the message's name for its type.
func (d *deriver) claim(m *Message) error {
	other := d.messages[m.Name]
	if other == nil {
		d.messages[m.Name] = m
		return nil
	}
	// A Document and a generated google.protobuf.Value are one message.
	if other.Type == m.Type || m.generated() && other.generated() {
		return nil
	}
	return fmt.Errorf("schema: the Go types %s (%s) and %s (%s) both have the protobuf name %s: rename one by a field `_ struct{} `+\"`%s:\\\"name=PACKAGE.NAME\\\"`\"",
		other.Type, other.Type.PkgPath(), m.Type, m.Type.PkgPath(), m.Name, tagKey)
}

func (m *Message) generated() bool { return m.Desc != nil || m.Document }

func (d *deriver) service(s ServiceDesc) error {
	full := protoreflect.FullName(s.Name)
	if !full.IsValid() {
		return fmt.Errorf("schema: the service name %q is not a protobuf name", s.Name)
	}
	p := d.file(full.Parent())
	name := string(full.Name())
	sd := &descriptorpb.ServiceDescriptorProto{Name: &name}
	for _, m := range s.Methods {
		if m.Input == nil || m.Output == nil {
			continue
		}
		if !protoreflect.Name(m.Name).IsValid() {
			return fmt.Errorf("schema: the method name %q of service %s is not a protobuf name", m.Name, s.Name)
		}
		in, err := d.refer(p, m.Input)
		if err != nil {
			return err
		}
		out, err := d.refer(p, m.Output)
		if err != nil {
			return err
		}
		md := &descriptorpb.MethodDescriptorProto{Name: &m.Name, InputType: in, OutputType: out}
		if m.ClientStreaming {
			md.ClientStreaming = &m.ClientStreaming
		}
		if m.ServerStreaming {
			md.ServerStreaming = &m.ServerStreaming
		}
		if m.Options != nil {
			md.Options = m.Options
			p.importExtensions(m.Options)
		}
		p.comment(m.Doc, fileService, int32(len(p.proto.Service)), serviceMethod, int32(len(sd.Method)))
		sd.Method = append(sd.Method, md)
	}
	p.proto.Service = append(p.proto.Service, sd)
	return nil
}

// importExtensions makes p import what options are defined in.
func (p *packageFile) importExtensions(options proto.Message) {
	options.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if fd.IsExtension() {
			f := fd.ParentFile()
			p.imports[f.Path()] = f
		}
		return true
	})
}

// The numbers of the fields of descriptors that paths to comments consist of;
// google.protobuf.SourceCodeInfo.Location.
const (
	fileMessage   = 4
	fileService   = 6
	messageField  = 2
	serviceMethod = 2
)

// comment adds a leading comment to what is at path.
func (p *packageFile) comment(text string, path ...int32) {
	if text == "" {
		return
	}
	if p.proto.SourceCodeInfo == nil {
		p.proto.SourceCodeInfo = new(descriptorpb.SourceCodeInfo)
	}
	// Compilers keep the space that comments have behind their slashes.
	var leading strings.Builder
	for line := range strings.Lines(text) {
		leading.WriteString(strings.TrimRight(" "+line, " \r\n") + "\n")
	}
	comment := leading.String()
	p.proto.SourceCodeInfo.Location = append(p.proto.SourceCodeInfo.Location, &descriptorpb.SourceCodeInfo_Location{
		Path: path, Span: []int32{0, 0, 0}, LeadingComments: &comment,
	})
}
