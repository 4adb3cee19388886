package users

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

const oldFile = "username,password,enabled,roles\r\ntest," + vector + ",true,user:admin\r\noff," + vector + ",false,\r\n"

func TestCSVOfTheOriginals(t *testing.T) {
	for name, text := range map[string]string{
		"first":      oldFile,
		"byte order": "\ufeff" + oldFile,
		"claims":     "username,password,enabled,roles,claim1,claim2\ntest," + vector + ",True,user:admin,one,\noff," + vector + ",0,\n",
	} {
		tab, err := readCSV([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, off := tab.get("test"), tab.get("off")
		if a == nil || !a.enabled || !slices.Equal(a.roles, []string{"user", "admin"}) || a.digest.String() != vector {
			t.Errorf("%s: %+v", name, a)
		}
		if off == nil || off.enabled || len(off.roles) != 0 {
			t.Errorf("%s: %+v", name, off)
		}
		if name == "claims" && !slices.Equal(a.claims, []string{"one"}) {
			t.Errorf("claims %q", a.claims)
		}
		again, err := readCSV(writeCSV(tab))
		if err != nil || !bytes.Equal(writeCSV(again), writeCSV(tab)) {
			t.Errorf("%s: written and read again: %v", name, err)
		}
	}
}

// What is wrong with a file is told with its place, and without what may be a
// password.
func TestCSVFaults(t *testing.T) {
	const head = "username,password,enabled,roles,claim1\n"
	row := func(s string) string { return head + "ok," + vector + ",true,user\n" + s }
	for _, c := range []struct{ text, want string }{
		{"user,password,enabled,roles\n", `1:1: column 1 is "user", and must be "username"`},
		{"username,password\n", `1:10: after the column "password" there must be "enabled"`},
		{"username,password,enabled,roles,claim2\n", `1:33: column 5 is "claim2", and can only be "claim1"`},
		{row("a,b\n"), "3:3: the row has 2 fields, and must have 4 to 5"},
		{row("a," + vector + ",true,user,c,d\n"), "the row has 6 fields"},
		{row("," + vector + ",true,user\n"), "3:1: users: not valid: a name is empty"},
		{row(" a," + vector + ",true,user\n"), "begins or ends with a space"},
		{row("ok," + vector + ",true,user\n"), `3:1: the user "ok" is in line 2 already`},
		{row("a,hunter2,true,user\n"), "3:3: the password is neither"},
		{row("a," + vector + ",yes,user\n"), `3:68: enabled is "yes", and must be true or false`},
		{row("a," + vector + ",true,user::x\n"), "a role is empty"},
		{row("a," + vector + ",true,user,b\x01c\n"), "claim 1 is empty, too long, or has characters"},
		{row("a\x00," + vector + ",true,user\n"), "cannot be printed"},
		{row("a,\"" + vector + ",true,user\n"), "extraneous or missing"},
		{row(strings.Repeat("n", MaxName+1) + "," + vector + ",true,user\n"), "has 257 bytes, and may have 256"},
	} {
		_, err := readCSV([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "b\x01c") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

// Whatever is in a file, it is refused or it means the same when it is written and
// read again.
func FuzzReadCSV(f *testing.F) {
	f.Add([]byte(oldFile))
	f.Add([]byte("username,password,enabled,roles,claim1\n\"a,b\",,1,x:y,\"c\"\"d\"\n"))
	f.Add([]byte("username,password,enabled,roles\na,$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc,true,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := readCSV(data)
		if err != nil {
			return
		}
		text := writeCSV(first)
		second, err := readCSV(text)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%q", err, text)
		}
		if again := writeCSV(second); !bytes.Equal(again, text) {
			t.Fatalf("written twice:\n%q\n%q", text, again)
		}
		first.each(func(a *account) {
			b := second.get(a.name)
			if b == nil || a.enabled != b.enabled || !slices.Equal(a.roles, b.roles) || !slices.Equal(a.claims, b.claims) || a.digest.String() != b.digest.String() {
				t.Fatalf("%+v has become %+v", a, b)
			}
		})
	})
}
