package evenkeeltest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// converse sends text, ends its side, and returns the lines that come back.
func converse(addr, text string) (lines []string) {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return []string{err.Error()}
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return []string{err.Error()}
	}
	for s := bufio.NewScanner(conn); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// A server that knows the usual commands, save for one that is scripted.
func ExampleNewFake() {
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		fmt.Println(err)
		return
	}
	fake := evenkeeltest.NewFake(ln, nil)
	defer fake.Close()
	fake.Handle("GET", func(r *evenkeeltest.Request) evenkeeltest.Reply {
		return evenkeeltest.Err("LOADING " + r.Arg(1) + " is not there yet")
	})

	for _, line := range converse(fake.Addr(), "SET k v\r\nGET k\r\nQUIT\r\n") {
		fmt.Println(line)
	}
	fmt.Println("GETs seen:", fake.Count("GET"))
	// Output:
	// +OK
	// -LOADING k is not there yet
	// +OK
	// GETs seen: 1
}

// A reply that breaks off in the middle: the conn is closed after nine bytes.
func ExampleReply_CutAt() {
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		fmt.Println(err)
		return
	}
	fake := evenkeeltest.NewFake(ln, func(*evenkeeltest.Request) evenkeeltest.Reply {
		return evenkeeltest.Bulk("half of this").CutAt(9).ThenClose()
	})
	defer fake.Close()

	fmt.Printf("%q\n", converse(fake.Addr(), "GET k\r\n"))
	// Output:
	// ["$12" "half"]
}

// A relay counts the conns that pass through it, and cuts them when told to.
func ExampleRelay() {
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		fmt.Println(err)
		return
	}
	fake := evenkeeltest.NewFake(ln, nil)
	defer fake.Close()
	relay, err := evenkeeltest.NewRelay(evenkeeltest.RelayConfig{Target: fake.Addr()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer relay.Close()

	relay.CutAfter(evenkeeltest.ToClient, 3, evenkeeltest.EndFIN)
	fmt.Printf("%q\n", converse(relay.Addr(), "PING\r\n"))
	fmt.Println("accepted:", relay.Stats().Accepted)
	// Output:
	// ["+PO"]
	// accepted: 1
}
