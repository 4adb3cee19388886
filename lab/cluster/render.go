package cluster

import (
	"bytes"
	_ "embed"
	"fmt"
	"os/user"
	"text/template"
)

//go:embed nginx.conf.tmpl
var confText string

var confTemplate = template.Must(template.New("nginx.conf").Parse(confText))

// conf is what the template is given.
type conf struct {
	Config
	Dir    string // for all files
	Listen string // host:port
	Module string // a path, or "" if nothing has to be loaded
	User   string // who the workers are, if NGINX would make them somebody else
	// HTTP2Directive is set if HTTP/2 is asked for by the directive http2, which is
	// so from 1.25.1 on.
	HTTP2Directive bool
	Connections    int // of each worker
	Generation     int // counts configurations, so that it can be told which is in force
}

// connections is how many a worker may have open: NGINX takes memory for all of
// them when it starts.
const connections = 4096

func (c *conf) render() ([]byte, error) {
	var b bytes.Buffer
	if err := confTemplate.Execute(&b, c); err != nil {
		return nil, fmt.Errorf("cluster: making the configuration: %w", err)
	}
	return b.Bytes(), nil
}

// workersUser is what the directive user must say: started by root, NGINX would
// give its workers to a user who cannot write to the folder. Nobody else can
// choose.
func workersUser() (string, error) {
	u, err := user.Current()
	if err != nil || u.Uid != "0" {
		return "", err
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		return "", err
	}
	return u.Username + " " + g.Name, nil
}
