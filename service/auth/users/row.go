package users

import (
	"fmt"
	"strings"
)

// Row is an account as a line of the CSV file, for who puts lines into files by
// other means. The columns of claims are as many as it has.
func Row(u User, password string, o Options) (string, error) {
	o, err := o.withDefaults()
	if err != nil {
		return "", err
	}
	if err := validate(&u); err != nil {
		return "", err
	}
	if n := len(password); n < o.MinPassword || n > o.MaxPassword {
		return "", fmt.Errorf("%w: the password has %d bytes, and must have %d to %d", ErrInvalid, n, o.MinPassword, o.MaxPassword)
	}
	t := newTable()
	t.set(u.Name, newAccount(u, (&Store{options: o}).wanted().newDigest(u.Name, password)))
	_, row, _ := strings.Cut(string(writeCSV(t)), "\n")
	return strings.TrimSuffix(row, "\n"), nil
}
