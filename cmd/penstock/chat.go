package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
)

// conversation is the flags of chat, and what was said so far.
type conversation struct {
	model, system, subject string
	tags                   []string
	prompt                 promptFlags
	ref                    *client.PromptRef // of the prompt, nil for none
	messages               []client.Message
}

func (sh *shell) chatCommand() *cobra.Command {
	var o conversation
	c := &cobra.Command{
		Use: "chat [PROMPT | -]", Short: "Talk to a model", Args: takesAtMostOne,
		Long: `Makes a synchronous call and prints the answer while it arrives. "-" reads the prompt
from standard input.

Without a prompt it is a conversation: each line is a message, and the model sees what
was said before. /reset forgets it, /model NAME changes the model, and /exit or Ctrl-D
ends it.

With --prompt, the messages of a prompt of the registry come first. Without a message of
your own, the prompt alone is sent. The model is that of the prompt, if it names one.

Without --model it uses the model "auto" of the server, or its only model.`,
		Example: `  penstock chat Hello
  penstock chat --model fast "Why is the sky blue?"
  penstock chat --model fast - < question.txt
  penstock chat --model fast --system "Answer in one sentence."
  penstock chat --prompt support/answer@production --var brand=Acme "Where is my order?"`,
		RunE: func(c *cobra.Command, args []string) error { return sh.chat(c.Context(), o, args) },
	}
	f := c.Flags()
	f.StringVarP(&o.model, "model", "m", "", `model; "penstock models list" shows them`)
	f.StringVar(&o.system, "system", "", "instructions for the model, before the conversation")
	f.StringArrayVar(&o.tags, "tag", nil, "tag that the call is attributed to, `KEY:VALUE`; may be repeated")
	f.StringVar(&o.subject, "subject", "", "end user that the call is about")
	o.prompt.add(f)
	return c
}

func (sh *shell) chat(ctx context.Context, o conversation, args []string) error {
	if len(args) == 1 {
		if err := refuseFileName("chat", args[0]); err != nil {
			return err
		}
	}
	cl, err := sh.connect(triesOnce)
	if err != nil {
		return err
	}
	if o.ref, err = o.prompt.read(sh); err != nil {
		return err
	}
	if o.ref == nil {
		if o.model, err = sh.chosenModel(ctx, cl, o.model); err != nil {
			return err
		}
	}
	if len(args) == 0 && o.ref != nil {
		return sh.turn(ctx, cl, &o, "")
	}
	if len(args) == 1 {
		prompt, err := sh.prompt(args[0])
		if err != nil {
			return err
		}
		o.reset()
		return sh.turn(ctx, cl, &o, prompt)
	}
	return sh.converse(ctx, cl, &o)
}

// defaultModel is the name of the model that a server offers to callers who choose none. The development server has it.
const defaultModel = "auto"

// chosenModel is the model of the flag --model. Without the flag it is the server's model "auto", or the server's only model.
func (sh *shell) chosenModel(ctx context.Context, cl *client.Client, asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	all, err := cl.Models(ctx)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(m *client.Model) bool { return m.ID == defaultModel }) {
		return defaultModel, nil
	}
	if len(all) == 1 {
		return all[0].ID, nil
	}
	const shown = 10
	var names []string
	for _, m := range all[:min(shown, len(all))] {
		names = append(names, m.ID)
	}
	return "", usageError{fmt.Sprintf("the model is missing: add --model, such as %s", cmp.Or(strings.Join(names, ", "), "fast"))}
}

// reset begins a conversation.
func (o *conversation) reset() {
	o.messages = nil
	if o.system != "" {
		o.messages = []client.Message{{Role: "system", Content: o.system}}
	}
}

// converse reads messages line by line.
func (sh *shell) converse(ctx context.Context, cl *client.Client, o *conversation) error {
	o.reset()
	lines := bufio.NewScanner(sh.stdin)
	lines.Buffer(nil, maxInputBytes)
	if sh.terminal {
		fmt.Fprintf(sh.stderr, "Talking to %s. /reset forgets the conversation, /model NAME changes the model, /exit ends it.\n", clean(o.model))
	}
	for {
		if sh.terminal {
			fmt.Fprint(sh.stderr, "> ")
		}
		if !lines.Scan() {
			return lines.Err()
		}
		line := strings.TrimSpace(lines.Text())
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case word == "/exit" || word == "/quit":
			return nil
		case word == "/reset":
			o.reset()
		case word == "/model" && rest != "":
			o.model = strings.TrimSpace(rest)
		case strings.HasPrefix(word, "/"):
			fmt.Fprintln(sh.stderr, "The commands are /reset, /model NAME and /exit.")
		default:
			err := sh.turn(ctx, cl, o, line)
			if _, refused := errors.AsType[*client.Error](err); !refused && err != nil || ctx.Err() != nil {
				return err
			}
			if err != nil { // the conversation goes on
				fmt.Fprintln(sh.stderr, "penstock: "+oneLine(explain(err)))
			}
		}
	}
}

// turn sends a message, prints the answer while it arrives, and remembers both.
func (sh *shell) turn(ctx context.Context, cl *client.Client, o *conversation, prompt string) error {
	tags, err := readTags(o.tags)
	if err != nil {
		return err
	}
	asked := o.messages
	if prompt != "" || o.ref == nil {
		asked = append(asked, client.Message{Role: "user", Content: prompt})
	}
	var whole strings.Builder
	var id string
	for delta, err := range cl.Chat(ctx, client.ChatSpec{Model: o.model, Messages: asked, Prompt: o.ref, Tags: tags, Subject: o.subject}) {
		if err != nil {
			if whole.Len() > 0 && sh.output == outputTable {
				fmt.Fprintln(sh.stdout)
			}
			return err
		}
		id = delta.RequestID
		whole.WriteString(delta.Content)
		if sh.output == outputTable {
			if _, err := io.WriteString(sh.stdout, sh.shown(delta.Content)); err != nil {
				return err
			}
		}
	}
	o.messages = append(asked, client.Message{Role: "assistant", Content: whole.String()})
	if sh.output == outputJSON {
		return sh.json(struct {
			Model     string `json:"model"`
			Answer    string `json:"answer"`
			RequestID string `json:"request_id"`
		}{o.model, whole.String(), id})
	}
	_, err = fmt.Fprintln(sh.stdout)
	return err
}

// shown is a part of an answer: to a program every byte, to a terminal without those that act on it.
func (sh *shell) shown(text string) string {
	if !sh.terminal {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && clean("x"+string(r)+"x") == "x x" && r != ' ' {
			return -1
		}
		return r
	}, text)
}

// refuseFileName refuses a prompt that is the name of a file: its name would be sent instead of its content.
func refuseFileName(command, prompt string) error {
	if prompt == "-" || strings.ContainsAny(prompt, " \n") {
		return nil
	}
	name := strings.TrimPrefix(prompt, "@") // as curl names a file
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		return usageError{fmt.Sprintf(`%q is a file, and its name would be the prompt; to send its content use "penstock %s - < %s"%s`, name, command, name, fileFlag(command))}
	case errors.Is(err, os.ErrNotExist) && (strings.HasSuffix(prompt, ".jsonl") || strings.HasSuffix(prompt, ".json")):
		return usageError{fmt.Sprintf("there is no file %q", name)}
	}
	return nil
}

// fileFlag names the other way to send a file.
func fileFlag(command string) string {
	if command == "jobs submit" {
		return ", and --file for a body or many inputs"
	}
	return ""
}
