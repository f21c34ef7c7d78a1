// The official Go SDKs as callers of a running server. Every script does what the Node script of the same
// name beside it does, and prints what it saw as JSON. The variables of the environment that `penstock dev`
// tells to export are all that the clients are given.
//
// It is a module of its own, so that the SDKs are no dependency of Penstock.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// script is a conversation; what it returns is printed.
type script func(context.Context) (any, error)

// scripts are all conversations by name.
var scripts = map[string]script{
	"chat":            chat,
	"stream":          stream,
	"endpoints":       endpoints,
	"responses":       response,
	"background":      background,
	"tools":           tools,
	"images":          images,
	"limited":         limited,
	"models":          models,
	"errors":          chatErrors,
	"retries":         retries,
	"abort":           abort,
	"jobs":            jobs,
	"files":           files,
	"batches":         batches,
	"message_batches": messageBatches,
	"webhooks":        webhooks,
	"conversation":    conversation,
	"messages":        messages,
	"messages_tools":  messageTools,
	"messages_errors": messageErrors,
	"messages_abort":  messageAbort,
	"cross_chat":      crossChat,
	"cross_messages":  crossMessages,
}

// patience bounds a script, so that a server that hangs fails a test instead of stopping it.
const patience = time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if len(args) > 0 && args[0] == "matrix" {
		return playMatrix(ctx, args[1:])
	}
	if len(args) != 1 || scripts[args[0]] == nil {
		return fmt.Errorf("name one script, got %q", args)
	}
	seen, err := scripts[args[0]](ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(seen)
}

// object is a JSON object as it is printed.
type object = map[string]any

// pixel is the smallest picture there is: one transparent pixel, as PNG.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// waited reports that something took as long as the server says to wait when it is busy: a second. The SDKs
// on their own would come back after half of one.
func waited(since time.Time) bool { return time.Since(since) >= 950*time.Millisecond }
