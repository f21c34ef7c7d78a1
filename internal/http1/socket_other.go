//go:build !unix

package http1

import (
	"net"
	"syscall"
)

// rawConn is nil: without the calls of Unix, connections are read by package net, and none is used twice.
func rawConn(net.Conn) syscall.RawConn { return nil }

func (c *conn) receive(uintptr) bool { return true }

func (c *conn) listen(uintptr) bool { return true }

func (c *conn) sendAndReceive(uintptr) bool { return true }
