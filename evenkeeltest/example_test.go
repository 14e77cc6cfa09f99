package evenkeeltest_test

import (
	"bufio"
	"fmt"
	"log"
	"net"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// A server that knows the usual commands, save for one that is scripted.
func ExampleNewFake() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fake := evenkeeltest.NewFake(ln, nil)
	defer fake.Close()
	fake.Handle("GET", func(r *evenkeeltest.Request) evenkeeltest.Reply {
		return evenkeeltest.Err("LOADING " + r.Arg(1) + " is not there yet")
	})

	conn, err := net.Dial("tcp", fake.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "SET k v\r\nGET k\r\n")
	replies := bufio.NewScanner(conn)
	for range 2 {
		replies.Scan()
		fmt.Println(replies.Text())
	}
	fmt.Println("GETs seen:", fake.Count("GET"))
	// Output:
	// +OK
	// -LOADING k is not there yet
	// GETs seen: 1
}

// A reply that breaks off in the middle: the conn is closed after nine bytes.
func ExampleReply_CutAt() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fake := evenkeeltest.NewFake(ln, func(*evenkeeltest.Request) evenkeeltest.Reply {
		return evenkeeltest.Bulk("half of this").CutAt(9).ThenClose()
	})
	defer fake.Close()

	conn, err := net.Dial("tcp", fake.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET k\r\n")
	reply := bufio.NewScanner(conn)
	for reply.Scan() {
		fmt.Printf("%q\n", reply.Text())
	}
	// Output:
	// "$12"
	// "half"
}

// A relay counts the conns that pass through it.
func ExampleRelay() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fake := evenkeeltest.NewFake(ln, nil)
	defer fake.Close()
	relay, err := evenkeeltest.NewRelay(evenkeeltest.RelayConfig{Target: fake.Addr()})
	if err != nil {
		log.Fatal(err)
	}
	defer relay.Close()

	conn, err := net.Dial("tcp", relay.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "PING\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	fmt.Printf("%q %v\n", line, err)
	fmt.Println("open:", relay.Stats().Open)
	// Output:
	// "+PONG\r\n" <nil>
	// open: 1
}
