package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/lab/reproduce"
)

// The relay runs whole: one server, three behind NGINX, three behind round robin;
// and the report shows who balances by call and who by connection.
func TestReproduceRelay(t *testing.T) {
	if testing.Short() {
		t.Skip("a dozen pairs of processes, which -race makes slow; the packages they use are tested by themselves")
	}
	if err := cluster.Installed(t.Context()); err != nil {
		needs.Missing(t, err.Error()+": apt-get install nginx libnginx-mod-stream")
	}
	dir := t.TempDir()
	out, errs, status := command(t, "", "reproduce", "relay", "--quick", "--out", dir)
	if status != exitOK {
		t.Fatalf("exit status %d: %s\n%s", status, errs, out)
	}
	checkWidth(t, "reproduce", out)
	for _, want := range []string{
		"Published: gRPC to one B is 27 % faster than HTTP/1.1", "of one block, so no claim.", "three Bs behind NGINX, gRPC, TLS",
		"Calls that each replica had", "by connection", "What differs",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	for _, file := range []string{"report.html", "relay-one.jsonl", "relay-three.jsonl"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	text, errs, status := command(t, "", "report", filepath.Join(dir, "relay-three.jsonl"))
	if status != exitOK || !strings.Contains(text, "grpc, nginx, TLS") {
		t.Errorf("a report of one experiment: exit status %d: %s\n%s", status, errs, text)
	}
}

// What programs read has the same sentences.
func TestReproduceJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("as TestReproduceRelay")
	}
	out, errs, status := command(t, "", "reproduce", "kvstore", "--quick", "--json", "--out", t.TempDir())
	var articles []reproduce.ArticleJSON
	if err := json.Unmarshal([]byte(out), &articles); err != nil || status != exitOK {
		t.Fatalf("exit status %d, %v: %s", status, err, errs)
	}
	a := articles[0]
	if len(articles) != 1 || a.Name != "kvstore" || a.Scale != reproduce.Quick || len(a.Answers) != 5 || len(a.Failed) != 0 {
		t.Errorf("got %+v", a)
	}
	for _, x := range a.Answers {
		if x.Ratio == nil || x.Ratio.Median <= 0 || x.Different || !strings.Contains(x.Sentence, "no claim") {
			t.Errorf("an answer: %+v", x)
		}
	}
}

func TestReproduceNothing(t *testing.T) {
	for want, args := range map[string][]string{
		"there are playground, lightauth, relay, flow, kvstore, and all": {"reproduce", "soap"},
		"<name>":         {"reproduce"},
		"--as-published": {"reproduce", "all", "--quick", "--as-published"},
	} {
		if _, errs, status := command(t, "", args...); status != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit status %d, %s", args, status, errs)
		}
	}
}
