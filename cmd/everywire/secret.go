package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxSecret bounds a line that is read as a secret.
const maxSecret = 64 << 10

// readSecret reads what must not stand on a command line, where every user of the
// machine sees it: from the terminal without showing it, twice if confirm is set; or
// the first line of what is not a terminal.
func (a *app) readSecret(what string, confirm bool) (string, error) {
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return a.askSecret(f, what, confirm)
	}
	line, err := bufio.NewReader(io.LimitReader(a.stdin, maxSecret+1)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("the %s cannot be read from standard input: %w", what, err)
	}
	if len(line) > maxSecret {
		return "", usagef("the %s on standard input has more than %d bytes", what, maxSecret)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", usagef("no %s: it is the first line of standard input", what)
	}
	return line, nil
}

func (a *app) askSecret(f *os.File, what string, confirm bool) (string, error) {
	first, err := a.askOnce(f, what)
	if err != nil || !confirm {
		return first, err
	}
	second, err := a.askOnce(f, what+" again")
	if err == nil && second != first {
		err = usagef("that was not the same %s twice", what)
	}
	return first, err
}

func (a *app) askOnce(f *os.File, what string) (string, error) {
	fmt.Fprintf(a.stderr, "%s: ", what)
	text, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(a.stderr)
	if err != nil {
		return "", fmt.Errorf("the %s cannot be read: %w", what, err)
	}
	if len(text) == 0 {
		return "", usagef("no %s", what)
	}
	return string(text), nil
}
