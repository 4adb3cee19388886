package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/wire"
)

// authFiles makes keys and accounts by the commands: ada, an administrator, and test,
// as the published services kept it.
func authFiles(t *testing.T) (keys, accounts string) {
	t.Helper()
	dir := t.TempDir()
	keys, accounts = filepath.Join(dir, "keys.json"), filepath.Join(dir, "users.csv")
	authRun(t, "", "auth", "keys", "new", "--keys", keys)
	authRun(t, adasPassword+"\n", "auth", "user", "add", "ada", "--role", "admin", "--role", "staff", "--users", accounts)
	row := authRun(t, "secret", "auth", "user", "row", "test", "--role", "user", "--hash", "pbkdf2", "--min-password", "6")
	if row != "test,939c1f673b7f5f5c991b4d4160642e72880e783ba4d7b04da260392f855214a6,true,user\n" {
		t.Errorf("the row is %q", row)
	}
	f, err := os.OpenFile(accounts, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(row)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return keys, accounts
}

const adasPassword = "correct horse battery"

// authRun runs a command that must succeed.
func authRun(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, errs, status := command(t, stdin, args...)
	if status != exitOK {
		t.Fatalf("everywire %s: status %d, %s", strings.Join(args, " "), status, errs)
	}
	return out
}

// authServe serves until the test ends, or stop is called; log is all that it has
// written to standard error.
func authServe(t *testing.T, args ...string) (targets []wire.Target, log *lockedBuffer, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	pr, pw := io.Pipe()
	log = new(lockedBuffer)
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, append([]string{"serve", "auth"}, args...), strings.NewReader(""), pw, log)
		pw.Close()
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if status := <-done; status != exitOK {
			t.Errorf("serve ended with status %d: %s", status, log.String())
		}
	}
	t.Cleanup(stop)
	lines := bufio.NewScanner(pr)
	for range strings.Count(strings.Join(args, " "), "--on") {
		if !lines.Scan() {
			t.Fatalf("serve ended: %s", log.String())
		}
		target, err := wire.ParseTarget(strings.TrimPrefix(lines.Text(), "serving auth on "))
		if err != nil {
			t.Fatalf("serve printed %q", lines.Text())
		}
		targets = append(targets, target)
	}
	go io.Copy(io.Discard, pr)
	return targets, log, stop
}

// ask makes a request.
func ask(t *testing.T, client *http.Client, method, url, token, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all)
}

// eventually waits for what a server does when it next looks at a file.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s has not come about", what)
		}
	}
}

// From nothing to a login, and what operators do while the server runs: accounts,
// API tokens, revocation, rotation. The server follows the files.
func TestAuthStory(t *testing.T) {
	keys, accounts := authFiles(t)
	targets, _, _ := authServe(t, "--users", accounts, "--keys", keys, "--on", "rest://127.0.0.1:0", "--on", "jsonrpc+http://127.0.0.1:0", "--on", "any://127.0.0.1:0")
	base := "http://" + targets[0].Addrs[0]
	c := http.DefaultClient
	verify := func(token string) int {
		status, _ := ask(t, c, "GET", base+"/api/v2/authentication/session", token, "")
		return status
	}
	login := func(name, password string) (int, string) {
		status, text := ask(t, c, "POST", base+"/api/v2/authentication", "", `{"username":"`+name+`","password":"`+password+`"}`)
		var reply struct{ Token string }
		_ = json.Unmarshal([]byte(text), &reply) // of an error there is none
		return status, reply.Token
	}
	status, token := login("test", "secret")
	if status != 200 || verify(token) != 200 || verify(token+"x") != 401 {
		t.Fatalf("login: %d", status)
	}
	// JSON-RPC 1.0 by default, on both targets that carry it over HTTP.
	for _, target := range targets[1:] {
		status, text := ask(t, c, "POST", "http://"+target.Addrs[0]+"/api/v1/session", "", `{"method":"session.Validate","params":["`+token+`"],"id":1}`)
		if status != 200 || text != `{"result":true,"error":null,"id":1}` {
			t.Errorf("%v: %d %s", target, status, text)
		}
	}
	// The hash of the published services has been exchanged.
	if out := authRun(t, "", "auth", "user", "list", "--users", accounts); !strings.Contains(out, "ada   yes      admin:staff  argon2id  0\ntest  yes      user         argon2id  0\n") {
		t.Errorf("the accounts are\n%s", out)
	}
	// A new user, a new password, a user who may log in no more.
	authRun(t, "long enough", "auth", "user", "add", "new", "--users", accounts)
	eventually(t, "the new user", func() bool { status, _ := login("new", "long enough"); return status == 200 })
	authRun(t, "longer than that", "auth", "user", "set", "new", "--password", "--users", accounts)
	eventually(t, "the new password", func() bool { status, _ := login("new", "longer than that"); return status == 200 })
	authRun(t, "", "auth", "user", "set", "new", "--disable", "--users", accounts)
	eventually(t, "the end of logins", func() bool { status, _ := login("new", "longer than that"); return status == 401 })
	authRun(t, "", "auth", "user", "remove", "new", "--users", accounts)
	// An API token, made, listed, decoded, used and revoked.
	var made tokenDoc
	out := authRun(t, "", "auth", "token", "make", "robot", "--role", "reader", "--name", "nightly", "--json", "--keys", keys)
	if err := json.Unmarshal([]byte(out), &made); err != nil || !strings.HasPrefix(made.Token, "ewt_") {
		t.Fatalf("%s, %v", out, err)
	}
	eventually(t, "the API token", func() bool { return verify(made.Token) == 200 })
	if out := authRun(t, "", "auth", "token", "list", "--keys", keys); !strings.Contains(out, made.ID+"  robot  reader  ") || strings.Contains(out, made.Token) {
		t.Errorf("the list is\n%s", out)
	}
	if out := authRun(t, made.Token, "auth", "token", "decode", "--keys", keys); !strings.Contains(out, "robot") || !strings.Contains(out, "good      yes") {
		t.Errorf("decoded:\n%s", out)
	}
	authRun(t, "", "auth", "token", "revoke", made.ID, "--keys", keys)
	eventually(t, "the revocation of an API token", func() bool { return verify(made.Token) == 401 })
	// A JSON Web Token, made by the command, revoked by itself.
	jwt := strings.TrimSpace(authRun(t, "", "auth", "token", "make", "robot", "--for", "48h", "--jwt", "--keys", keys))
	if verify(jwt) != 200 {
		t.Error("a token of the command is not good")
	}
	authRun(t, jwt+"\n", "auth", "token", "revoke", "--keys", keys)
	eventually(t, "the revocation of a token", func() bool { return verify(jwt) == 401 })
	if _, errs, status := command(t, jwt, "auth", "token", "decode", "--keys", keys); status != exitFailure || !strings.Contains(errs, "the token is not good: revoked") {
		t.Errorf("a revoked token is decoded: %d, %s", status, errs)
	}
	// A rotation: the old token is good, new ones are of the new key; then the old key goes.
	authRun(t, "", "auth", "keys", "rotate", "--alg", "EdDSA", "--keys", keys)
	eventually(t, "the new key", func() bool {
		_, fresh := login("test", "secret")
		return strings.Contains(authRun(t, fresh, "auth", "token", "decode", "--keys", keys), "EdDSA")
	})
	if verify(token) != 200 {
		t.Error("a token of the old key is not good")
	}
	var list []keyDoc
	if err := json.Unmarshal([]byte(authRun(t, "", "auth", "keys", "list", "--json", "--keys", keys)), &list); err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, k := range list {
		if k.State == "retired" {
			authRun(t, "", "auth", "keys", "remove", k.ID, "--keys", keys)
		}
	}
	eventually(t, "the end of the old key", func() bool { return verify(token) == 401 })
}

// Nothing that is secret is in the log, however much is logged, nor in the metrics,
// nor in errors: no password, right or wrong, no claim, no token, no key, no hash.
func TestNoSecretInLogs(t *testing.T) {
	keys, accounts := authFiles(t)
	claims := filepath.Join(filepath.Dir(keys), "claims.txt")
	if err := os.WriteFile(claims, []byte("claim-of-ada\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	authRun(t, "", "auth", "user", "set", "ada", "--claims", claims, "--users", accounts)
	secrets := []string{adasPassword, "wrong-password-1", "typed-where-the-name-belongs", "claim-of-ada", "claim-of-nobody", "939c1f673b7f5f5c"}
	targets, log, stop := authServe(t, "--users", accounts, "--keys", keys, "--log-calls", "--admin", "127.0.0.1:0",
		"--on", "rest://127.0.0.1:0", "--on", "any://127.0.0.1:0", "--on", "grpc://127.0.0.1:0", "--on", "jsonrpc+tcp://127.0.0.1:0", "--on", "msgpackrpc+tcp://127.0.0.1:0")
	base := "http://" + targets[0].Addrs[0]
	const path = "/api/v2/authentication"
	var answers strings.Builder
	for _, body := range []string{
		`{"username":"ada","password":"wrong-password-1"}`, `{"username":"typed-where-the-name-belongs","password":"x"}`,
		`{"username":"ada","claims":["claim-of-nobody"]}`, `{"username":"ada","password":"` + adasPassword + `","claims":["claim-of-ada"]}`,
		`{"username":"ada","password":["wrong-password-1"]}`, `{"username":"ada","password":"wrong-password-1`, `{"username":"` + strings.Repeat("x", 300) + `","password":"wrong-password-1"}`,
	} {
		status, text := ask(t, http.DefaultClient, "POST", base+path, "", body)
		if status < 400 {
			t.Errorf("%s: %d", body, status)
		}
		answers.WriteString(text)
	}
	tokens := []string{}
	for _, target := range targets {
		for _, in := range []string{`{"username":"ada","password":"` + adasPassword + `"}`, `{"username":"ada","claims":["claim-of-ada"]}`} {
			target.Options = nil
			name := target.String()
			if target.Wire == "any" {
				name = strings.Replace(name, "any:", "connect:", 1)
			}
			var reply struct{ Token string }
			if err := json.Unmarshal([]byte(authRun(t, "", "call", name, "auth.Authentication/Authenticate", in)), &reply); err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, reply.Token)
			if strings.HasPrefix(name, "msgpackrpc") {
				name += "?meta=on"
			}
			for _, token := range []string{reply.Token, reply.Token + "x"} {
				_, errs, _ := command(t, "", "call", name, "auth.Authentication/Verify", "{}", "-H", "authorization: Bearer "+token)
				answers.WriteString(errs)
				_, errs, _ = command(t, "", "call", name, "auth.Authentication/Validate", `{"token":"`+token+`"}`)
				answers.WriteString(errs)
			}
			_, errs, _ := command(t, "", "call", name, "auth.Authentication/Authenticate", `{"username":"ada","password":"wrong-password-1"}`)
			answers.WriteString(errs)
		}
	}
	_, text := ask(t, http.DefaultClient, "GET", base+"/metrics", "", "")
	answers.WriteString(text)
	// A file that is broken while the server runs is complained of.
	good, err := os.ReadFile(accounts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(accounts, append(good, "eve,typed-where-the-name-belongs,true,\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the complaint", func() bool {
		ask(t, http.DefaultClient, "POST", base+path, "", `{"username":"ada","password":"wrong-password-1"}`)
		return strings.Contains(log.String(), "a file of users cannot be used")
	})
	stop()
	keyFileText, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Keys []struct{ Secret string } }
	if err := json.Unmarshal(keyFileText, &file); err != nil || len(file.Keys) != 1 {
		t.Fatal(err)
	}
	secrets = append(secrets, file.Keys[0].Secret, "$argon2id$")
	for _, token := range tokens {
		if strings.Count(token, ".") != 2 {
			t.Fatalf("no token: %q", token)
		}
		secrets = append(secrets, token, token[strings.LastIndexByte(token, '.')+1:])
	}
	all := log.String()
	for _, secret := range secrets {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in the log", secret)
		}
		if strings.Contains(answers.String(), secret) {
			t.Errorf("%q is in an answer", secret)
		}
	}
	// And yet the log tells who has logged in, and who has not.
	for _, want := range []string{"result=ok", "user=ada", "result=refused", `reason="wrong password"`, `reason="unknown user"`, `reason="no claim matches"`, "token_id=", "auth.Authentication/Verify"} {
		if !strings.Contains(all, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

// TLS works: by the options of a target, on one wire and on all.
func TestAuthTLS(t *testing.T) {
	keys, accounts := authFiles(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	if err := errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: privateDER}), 0o600)); err != nil {
		t.Fatal(err)
	}
	options := "?cert=" + cert + "&key=" + key
	targets, log, stop := authServe(t, "--users", accounts, "--keys", keys, "--on", "rest+tls://127.0.0.1:0"+options, "--on", "any+tls://127.0.0.1:0"+options)
	roots := x509.NewCertPool()
	template.Raw = der
	if parsed, err := x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	} else {
		roots.AddCert(parsed)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for _, target := range targets {
		status, text := ask(t, client, "POST", "https://"+target.Addrs[0]+"/api/v2/authentication", "", `{"username":"test","password":"secret"}`)
		if status != 200 || !strings.HasPrefix(text, `{"token":"`) {
			t.Errorf("%v: %d %s", target, status, text)
		}
		conn, err := net.Dial("tcp", target.Addrs[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST /api/v2/authentication HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 37\r\n\r\n{\"username\":\"test\",\"password\":\"secret\"}"); err != nil {
			t.Fatal(err)
		}
		reply, _ := io.ReadAll(conn) // it may end by a reset
		if strings.Contains(string(reply), "token") {
			t.Errorf("%v: answers in the clear: %q", target, reply)
		}
		conn.Close()
	}
	stop()
	if strings.Contains(log.String(), "in the clear") {
		t.Errorf("it warns: %s", log.String())
	}
	_, log, stop = authServe(t, "--users", accounts, "--keys", keys, "--on", "rest://:0")
	stop()
	if !strings.Contains(log.String(), "passwords and tokens travel in the clear") {
		t.Errorf("it does not warn of every address without TLS: %s", log.String())
	}
}

func TestAuthUsage(t *testing.T) {
	keys, accounts := authFiles(t)
	dir := filepath.Dir(keys)
	empty := t.TempDir()
	for _, c := range []struct {
		stdin  string
		args   []string
		status int
		want   string
	}{
		{"", []string{"serve", "auth", "--on", "rest://127.0.0.1:0"}, exitUsage, "needs accounts: --users FILE"},
		{"", []string{"serve", "auth", "--users", accounts, "--on", "rest://127.0.0.1:0"}, exitUsage, "needs keys: --keys FILE"},
		{"", []string{"serve", "kv", "--users", accounts, "--on", "rest://127.0.0.1:0"}, exitUsage, "are for the service auth"},
		{"", []string{"serve", "auth", "--users", accounts, "--keys", keys, "--ttl", "48h", "--on", "rest://127.0.0.1:0"}, exitUsage, "want 1s to 24h0m0s; for longer there are API tokens"},
		{"", []string{"serve", "auth", "--users", empty + "/users.csv", "--keys", keys, "--on", "rest://127.0.0.1:0"}, exitFailure, "there are no users yet in"},
		{"", []string{"serve", "auth", "--users", empty, "--keys", keys, "--on", "rest://127.0.0.1:0"}, exitFailure, "there are no users yet in"},
		{"", []string{"serve", "auth", "--users", accounts, "--keys", empty + "/none.json", "--on", "rest://127.0.0.1:0"}, exitFailure, "make the first by everywire auth keys new"},
		{"", []string{"serve", "auth", "--users", accounts, "--keys", keys, "--legacy-secret", accounts + "x", "--on", "rest://127.0.0.1:0"}, exitUsage, "--legacy-secret"},
		{"", []string{"auth", "user", "add", "x"}, exitUsage, "--users"},
		{"", []string{"auth", "user", "add", "x", "--users", dir + "/users.txt"}, exitUsage, "ends in .csv or .db"},
		{"", []string{"auth", "user", "add", "x", "--users", accounts}, exitUsage, "no password: it is the first line of standard input"},
		{"short\n", []string{"auth", "user", "add", "x", "--users", accounts}, exitUsage, "the password has 5 bytes, and must have 8 to 1024"},
		{"long enough\n", []string{"auth", "user", "add", "a\nb", "--users", accounts}, exitUsage, "cannot be printed"},
		{"long enough\n", []string{"auth", "user", "add", "ada", "--users", accounts}, exitFailure, `there is a user "ada" already`},
		{"", []string{"auth", "user", "add", "x", "--no-password", "--users", accounts}, exitUsage, "needs claims"},
		{"", []string{"auth", "user", "set", "ada", "--users", accounts}, exitUsage, "set what?"},
		{"", []string{"auth", "user", "set", "ada", "--enable", "--disable", "--users", accounts}, exitUsage, "one or the other"},
		{"", []string{"auth", "user", "set", "nobody", "--enable", "--users", accounts}, exitFailure, `there is no user "nobody"`},
		{"", []string{"auth", "user", "remove", "nobody", "--users", accounts}, exitFailure, `there is no user "nobody"`},
		{"", []string{"auth", "user", "list", "--users", empty}, exitFailure, "there are no users yet"},
		{"", []string{"auth", "keys", "new", "--keys", keys}, exitFailure, "is there already: rotate"},
		{"", []string{"auth", "keys", "new", "--alg", "none", "--keys", dir + "/k"}, exitUsage, "--alg"},
		{"", []string{"auth", "keys", "rotate", "--keys", dir + "/none"}, exitFailure, "make the first by"},
		{"", []string{"auth", "keys", "remove", "nothing", "--keys", keys}, exitFailure, `there is no key "nothing"`},
		{"", []string{"auth", "token", "make", "x", "--for", "0s", "--keys", keys}, exitUsage, "want more than nothing"},
		{"", []string{"auth", "token", "make", "x", "--for", "200000h", "--keys", keys}, exitUsage, "must be so for 1s to"},
		{"", []string{"auth", "token", "make", "x", "--name", "n", "--jwt", "--keys", keys}, exitUsage, "--name is for API tokens"},
		{"x", []string{"auth", "token", "decode"}, exitFailure, "this is no token of the service: malformed"},
		{"ewt_x", []string{"auth", "token", "decode"}, exitUsage, "an API token says nothing itself"},
		{"x", []string{"auth", "token", "revoke", "--keys", keys}, exitFailure, "the token is not good anyway: malformed"},
		{"", []string{"auth", "token", "revoke", "not-an-id", "--keys", keys}, exitUsage, "is no id of a token"},
	} {
		out, errs, status := command(t, c.stdin, c.args...)
		if status != c.status || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 && c.status != exitUsage {
			t.Errorf("everywire %s: status %d, %q, %q, want %d, %q", strings.Join(c.args, " "), status, out, errs, c.status, c.want)
		}
	}
}

func TestAuthHelp(t *testing.T) {
	for _, args := range []string{"auth", "auth user", "auth user add", "auth user set", "auth user row", "auth user list", "auth user remove", "auth keys", "auth keys new", "auth keys rotate", "auth keys list", "auth keys remove", "auth token", "auth token make", "auth token decode", "auth token list", "auth token revoke"} {
		out, errs, status := command(t, "", append(strings.Fields(args), "--help")...)
		if status != exitOK || errs != "" {
			t.Errorf("%s --help: status %d, %s", args, status, errs)
		}
		checkWidth(t, args, out)
	}
}

// A database takes the accounts too, in a folder.
func TestAuthDatabase(t *testing.T) {
	keys, _ := authFiles(t)
	dir := t.TempDir()
	authRun(t, "long enough", "auth", "user", "add", "ada", "--users", dir)
	if _, err := os.Stat(filepath.Join(dir, "users.db")); err != nil {
		t.Error(err)
	}
	targets, _, stop := authServe(t, "--users", dir, "--keys", keys, "--on", "rest://127.0.0.1:0")
	if status, text := ask(t, http.DefaultClient, "POST", "http://"+targets[0].Addrs[0]+"/api/v2/authentication", "", `{"username":"ada","password":"long enough"}`); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if _, errs, status := command(t, "", "auth", "user", "list", "--users", dir); status != exitFailure || !strings.Contains(errs, "stop the server first") {
		t.Errorf("while the server runs: %d, %s", status, errs)
	}
	stop()
	if out := authRun(t, "", "auth", "user", "list", "--json", "--users", dir); !strings.Contains(out, `"name": "ada"`) {
		t.Errorf("afterwards: %s", out)
	}
}
