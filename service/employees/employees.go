// Package employees is the service that texts on REST and RPC argue about: a
// list of people with filter and paging, changes to one of them, and an action,
// sending an e-mail, that is no change of a resource. It is kept in memory.
//
// Changes are guarded by versions: an employee's version is its entity tag in
// HTTP, and a request may name the one that it is for.
package employees

import (
	"context"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/employees/outbox"
)

// The full names of the methods.
const (
	List   = "employees.Employees/ListEmployees"
	Get    = "employees.Employees/GetEmployee"
	Create = "employees.Employees/CreateEmployee"
	Rename = "employees.Employees/RenameEmployee"
	Fire   = "employees.Employees/FireEmployee"
	Email  = "employees.Employees/SendEmail"
	Watch  = "employees.Employees/WatchEmployees"
)

// An Employee is one of the people.
type Employee struct {
	ID       int64     `wire:"1" doc:"Assigned when the employee is created, and never again."`
	Name     string    `wire:"2" doc:"At most 100 characters."`
	Email    string    `wire:"3" doc:"Where SendEmail sends to. No two employees have the same."`
	Language string    `wire:"4" doc:"The language that the employee is written to in, such as en or pt-BR."`
	Hired    time.Time `wire:"5" doc:"When the employee was created."`
	Version  int64     `wire:"6" http:"etag" doc:"Counts the changes."`
}

// ListRequest asks for a page of the list, which is in the order of the IDs.
type ListRequest struct {
	Language string `wire:"1" doc:"Only those who are written to in this language; empty for all."`
	PerPage  int32  `wire:"2" json:"perpage" doc:"How many at most, up to 100; 0 is 20."`
	Offset   int64  `wire:"3" doc:"How many of them to leave out at the beginning."`
}

// ListReply is a page of the list.
type ListReply struct {
	Employees []*Employee `wire:"1"`
	Total     int64       `wire:"2" doc:"How many there are on all pages."`
}

// GetRequest asks for one employee.
type GetRequest struct {
	ID int64 `wire:"1"`
}

// CreateRequest asks for a new employee.
type CreateRequest struct {
	Name     string `wire:"1"`
	Email    string `wire:"2"`
	Language string `wire:"3" doc:"Empty is en."`
}

// RenameRequest gives an employee another name.
type RenameRequest struct {
	ID      int64  `wire:"1"`
	Name    string `wire:"2"`
	IfMatch string `wire:"3" http:"header=If-Match" doc:"The version that the change is for, or several with commas between; empty or * for any."`
}

// FireRequest removes an employee.
type FireRequest struct {
	ID      int64  `wire:"1"`
	IfMatch string `wire:"2" http:"header=If-Match" doc:"As in RenameRequest."`
}

// FireReply says that the employee is gone.
type FireReply struct{}

// EmailRequest asks for an e-mail to an employee.
type EmailRequest struct {
	UserID  int64  `wire:"1" json:"user_id" doc:"The employee's ID."`
	Text    string `wire:"2" doc:"At most 64 KiB."`
	Subject string `wire:"3" doc:"At most 200 characters, in one line."`
}

// EmailReply says that the e-mail has been queued.
type EmailReply struct {
	MessageID string `wire:"1" doc:"The mail's Message-ID."`
}

// WatchRequest asks for what changes from now on, or from an event on.
type WatchRequest struct {
	Language string `wire:"1" doc:"Only employees who are written to in this language; empty for all."`
	After    *int64 `wire:"2" doc:"Begin with what followed the event of this sequence number. Some 1000 events are kept."`
}

// An Event is one change.
type Event struct {
	Sequence int64     `wire:"1" doc:"Counts the events."`
	Kind     string    `wire:"2" doc:"created, renamed or fired."`
	Employee *Employee `wire:"3" doc:"The employee after the change; when fired, as it was."`
}

// Options set up a service.
type Options struct {
	// Outbox takes the e-mails. Without one SendEmail is refused.
	Outbox *outbox.Outbox
	// MaxEmployees bounds the list; beyond it CreateEmployee is
	// ResourceExhausted. Default 10000.
	MaxEmployees int
	// Staff are those who are there at the beginning; IDs and versions are
	// assigned. Nil is a short list of invented people.
	Staff []Employee
}

const defaultMaxEmployees = 10000

// A Service holds the employees. It is safe for concurrent use.
type Service struct {
	outbox *outbox.Outbox
	store  store
	feed   feed
}

// New returns a service.
func New(opts Options) *Service {
	if opts.MaxEmployees == 0 {
		opts.MaxEmployees = defaultMaxEmployees
	}
	if opts.Staff == nil {
		opts.Staff = invented
	}
	s := &Service{outbox: opts.Outbox}
	s.store.max = max(opts.MaxEmployees, len(opts.Staff))
	for _, e := range opts.Staff {
		s.store.add(e)
	}
	return s
}

// Close ends the streams of those who watch. What is called later is answered.
func (s *Service) Close() { s.feed.close() }

// Register adds the service's methods to reg.
func (s *Service) Register(reg *everywire.Registry) {
	everywire.Handle(reg, List, s.list,
		everywire.WithDoc("Returns a page of the list of employees."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "list_employees", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("GET", "/employees", ""))
	everywire.Handle(reg, Get, s.get,
		everywire.WithDoc("Returns one employee."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "get_employee", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("GET", "/employees/{id}", ""))
	everywire.Handle(reg, Create, s.create,
		everywire.WithDoc("Adds an employee."),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "create_employee", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("POST", "/employees", "*", everywire.Created("/employees/{id}")))
	everywire.Handle(reg, Rename, s.rename,
		everywire.WithDoc("Gives an employee another name."),
		everywire.WithIdempotency(everywire.Idempotent),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "rename_employee", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("PATCH", "/employees/{id}", "*"))
	everywire.Handle(reg, Fire, s.fire,
		everywire.WithDoc("Removes an employee. One who is gone already is no error."),
		everywire.WithIdempotency(everywire.Idempotent),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "fire_employee", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("DELETE", "/employees/{id}", ""))
	everywire.Handle(reg, Email, s.email,
		everywire.WithDoc("Queues an e-mail to an employee."),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "send_email", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("POST", "/employees/{user_id}/email", "*"))
	everywire.HandleServerStream(reg, Watch, s.watch,
		everywire.WithDoc("Tells of every change, as it happens."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/employees:watch", ""))
}

func (s *Service) list(_ context.Context, in *ListRequest) (*ListReply, error) {
	var bad violations
	language := bad.filter("language", in.Language)
	if in.PerPage < 0 || in.PerPage > maxPerPage {
		bad.add("perpage", "%d is not between 0 and %d", in.PerPage, maxPerPage)
	}
	if in.Offset < 0 {
		bad.add("offset", "%d is negative", in.Offset)
	}
	if err := bad.err(); err != nil {
		return nil, err
	}
	perPage := int64(in.PerPage)
	if perPage == 0 {
		perPage = defaultPerPage
	}
	page, total := s.store.page(language, in.Offset, perPage)
	return &ListReply{Employees: page, Total: total}, nil
}

const (
	defaultPerPage = 20
	maxPerPage     = 100
)

func (s *Service) get(_ context.Context, in *GetRequest) (*Employee, error) {
	return s.store.get(in.ID)
}

func (s *Service) create(_ context.Context, in *CreateRequest) (*Employee, error) {
	var bad violations
	e := Employee{
		Name: bad.name("name", in.Name), Email: bad.email("email", in.Email), Language: bad.language("language", in.Language),
		Hired: time.Now().UTC(),
	}
	if err := bad.err(); err != nil {
		return nil, err
	}
	return s.store.create(e, s.feed.send)
}

func (s *Service) rename(_ context.Context, in *RenameRequest) (*Employee, error) {
	var bad violations
	name, match := bad.name("name", in.Name), bad.versions("ifMatch", in.IfMatch)
	if err := bad.err(); err != nil {
		return nil, err
	}
	return s.store.rename(in.ID, name, match, s.feed.send)
}

func (s *Service) fire(_ context.Context, in *FireRequest) (*FireReply, error) {
	var bad violations
	match := bad.versions("ifMatch", in.IfMatch)
	if err := bad.err(); err != nil {
		return nil, err
	}
	if err := s.store.fire(in.ID, match, s.feed.send); err != nil {
		return nil, err
	}
	return &FireReply{}, nil
}
