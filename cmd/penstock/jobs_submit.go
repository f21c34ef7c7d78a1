package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

// order is the flags of jobs submit.
type order struct {
	model, lane, file string
	tags              []string
	wait, watch       bool
	dryRun            bool
	key               string
	deadline          string
	maxAttempts       int
	itemTimeout       time.Duration
	prompt            promptFlags
}

func (sh *shell) jobsSubmitCommand() *cobra.Command {
	var o order
	c := &cobra.Command{
		Use: "submit [PROMPT | FILE.jsonl | -]", Short: "Submit a prompt, a body or many inputs", Args: takesAtMostOne,
		Long: `Submits a job and prints its id. When the id is printed, the job is on stable storage.

The input is one of
  PROMPT          a prompt; "-" reads it from standard input
  FILE.jsonl      the same as --file FILE.jsonl
  --file body.json     one body, as the model's API takes it
  --file inputs.jsonl  many: a line for each, {"custom_id":"row-1","body":{…}}; files
                       for OpenAI's batch API are such files too
and "--file -" reads either from standard input. With --prompt, the messages of a prompt
of the registry come first; lines may then be {"custom_id":"row-1","variables":{…}}, and
the input may be left out. Without --model, the bodies or the prompt name the model.
A file of lines that is larger than 1 MiB is uploaded, and the job runs over it.

With --watch it follows the job to its end, with a progress bar on a terminal.

With --wait it waits until the job is finished and prints the answer, or for many
inputs the job; it exits with 3 if some of them did not succeed.`,
		Example: `  penstock jobs submit --model fast "Why is the sky blue?"
  penstock jobs submit --model fast --wait - < question.txt > answer.txt
  penstock jobs submit inputs.jsonl --watch
  penstock jobs submit --file inputs.jsonl --lane bulk --tag team:search --deadline 8h
  penstock jobs submit --file inputs.jsonl --dry-run
  penstock jobs submit --file inputs.jsonl --idempotency-key reviews-2026-11-15
  penstock jobs submit --prompt support/answer --var brand=Acme --file rows.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return sh.submit(c.Context(), o, args) },
	}
	f := c.Flags()
	f.StringVarP(&o.model, "model", "m", "", `model; "penstock models list" shows them`)
	f.StringVar(&o.lane, "lane", "", "lane: realtime, standard or bulk (standard)")
	f.StringVarP(&o.file, "file", "f", "", "file with a body or with many inputs; - is standard input")
	f.StringArrayVar(&o.tags, "tag", nil, "tag to keep with the job, `KEY:VALUE`; may be repeated")
	f.BoolVarP(&o.wait, "wait", "w", false, "wait until the job is finished")
	f.BoolVar(&o.watch, "watch", false, "follow the job until it is finished: progress, rate, cost and failures")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show tokens, cost and the estimated finish; exits with 1 if the job would be refused")
	f.StringVar(&o.key, "idempotency-key", "", "key of this submit: the same key and work return the same job")
	f.StringVar(&o.deadline, "deadline", "", "when unfinished items expire, a `TIME` in RFC 3339 or a duration such as 8h (24h)")
	f.IntVar(&o.maxAttempts, "max-attempts", 0, "maximum number of attempts of an item (4)")
	f.DurationVar(&o.itemTimeout, "item-timeout", 0, "how long one attempt may take (5m)")
	o.prompt.add(f)
	return c
}

func (sh *shell) submit(ctx context.Context, o order, args []string) error {
	if o.wait && o.watch || o.dryRun && (o.wait || o.watch) {
		return usageError{"--wait, --watch and --dry-run exclude each other; give only one"}
	}
	if len(args) == 1 && o.file == "" && isLinesFile(args[0]) {
		o.file, args = args[0], nil
	}
	cl, err := sh.connect(triesOnce)
	if err != nil {
		return err
	}
	spec, err := o.upload(ctx, sh, cl)
	if spec.InputFile == "" && err == nil {
		spec, err = o.spec(sh, args)
	}
	if err != nil {
		return err
	}
	if o.dryRun {
		return sh.tryJob(ctx, cl, spec)
	}
	var options []client.SubmitOption
	if o.key != "" {
		options = append(options, client.IdempotencyKey(o.key))
	}
	job, err := cl.SubmitJob(ctx, spec, options...)
	if err != nil {
		return err
	}
	switch {
	case o.wait:
		return sh.await(ctx, job.ID)
	case o.watch:
		return sh.watch(ctx, job.ID)
	}
	return sh.printAccepted(job)
}

// tryJob prints what would become of a job.
func (sh *shell) tryJob(ctx context.Context, cl *client.Client, spec client.JobSpec) error {
	t, err := cl.TryJob(ctx, spec)
	if err != nil {
		return err
	}
	if sh.output == outputJSON {
		err = sh.raw(t.Raw)
	} else {
		cost, most := "not known", fmt.Sprintf("%d tokens", t.AtMost.Tokens) // the warnings say why
		if t.Estimate.Cost != nil {
			cost = "about " + dollars(*t.Estimate.Cost)
			most += ", " + dollars(t.AtMost.Cost)
		}
		err = sh.describe(
			field{"Items", strconv.Itoa(t.Items)}, field{"Target", t.Target},
			field{"Tokens", fmt.Sprintf("about %d in, %d out", t.Estimate.InputTokens, t.Estimate.OutputTokens)}, field{"Cost", cost},
			field{"At most", most},
			field{"Finished", sh.when(t.EstimatedFinishAt)}, field{"Waiting on", t.WaitingOn}, field{"Warning", strings.Join(t.Warnings, "; ")},
		)
	}
	if err == nil && t.Refusal != nil {
		err = fmt.Errorf("it would be refused: %s", itemError(t.Refusal))
	}
	return err
}

// printAccepted prints the id of a job that was just accepted.
func (sh *shell) printAccepted(job *client.Job) error {
	if sh.output == outputJSON {
		return sh.raw(job.Raw)
	}
	if sh.terminal {
		fmt.Fprintf(sh.stderr, "Accepted. Follow it with: penstock jobs watch %s\n", job.ID)
	}
	_, err := fmt.Fprintln(sh.stdout, job.ID)
	return err
}

// await prints what a job came to, once it is finished.
func (sh *shell) await(ctx context.Context, id string) error {
	cl, err := sh.connect(triesFollowed)
	if err != nil {
		return err
	}
	job, err := cl.WaitJob(ctx, id)
	if err != nil {
		return fmt.Errorf("%w; the job continues: penstock jobs watch %s", err, id)
	}
	switch {
	case sh.output == outputJSON:
		err = sh.raw(job.Raw)
	case job.Result == nil:
		err = sh.printJob(job)
	case job.Result.Response != nil:
		err = sh.printAnswer(answer(job.Result))
	}
	if err != nil {
		return err
	}
	return outcomeError(job)
}

// printAnswer prints what a model said: to a program every byte, to a terminal without those that act
// on it.
func (sh *shell) printAnswer(text string) error {
	if sh.terminal {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = clean(line)
		}
		text = strings.Join(lines, "\n")
	}
	_, err := fmt.Fprintln(sh.stdout, text)
	return err
}

// terms are what the flags say about a job, whatever it runs.
func (o order) terms(sh *shell) (client.JobSpec, error) {
	spec := client.JobSpec{Model: o.model, Lane: penstock.Lane(o.lane), MaxAttempts: o.maxAttempts, ItemTimeout: o.itemTimeout}
	var err error
	if spec.Tags, err = readTags(o.tags); err != nil {
		return spec, err
	}
	if spec.Prompt, err = o.prompt.read(sh); err != nil {
		return spec, err
	}
	spec.Deadline, err = moment("--deadline", o.deadline, sh.now().Add)
	return spec, err
}

// uploadOver is from how many bytes on a file of lines is uploaded instead of being sent with the job.
const uploadOver = 1 << 20

// isLinesFile says that an argument is the name of a file with lines, and no prompt.
func isLinesFile(arg string) bool {
	info, err := os.Stat(arg)
	return strings.HasSuffix(arg, ".jsonl") && err == nil && info.Mode().IsRegular()
}

// upload sends a large file of lines ahead and makes a job over it. For anything else there is no InputFile.
func (o order) upload(ctx context.Context, sh *shell, cl *client.Client) (client.JobSpec, error) {
	info, err := os.Stat(o.file)
	if err != nil || !info.Mode().IsRegular() || info.Size() <= uploadOver || !strings.HasSuffix(o.file, ".jsonl") {
		return client.JobSpec{}, nil // reading it says what is wrong with it
	}
	spec, err := o.terms(sh)
	if err != nil {
		return spec, err
	}
	f, err := os.Open(o.file)
	if err != nil {
		return spec, fmt.Errorf("reading the inputs: %w", err)
	}
	defer f.Close()
	if sh.terminal {
		fmt.Fprintf(sh.stderr, "Uploading %s (%d MiB) …\n", o.file, info.Size()>>20)
	}
	sent, err := cl.UploadFile(ctx, filepath.Base(o.file), f)
	if err != nil {
		return spec, err
	}
	if sent.ErrorCount > 0 && sent.Errors != nil {
		for _, e := range sent.Errors.Data {
			fmt.Fprintf(sh.stderr, "%s:%d: %s\n", o.file, e.Line, clean(e.Message))
		}
		return spec, fmt.Errorf("%d lines of %s are invalid; nothing was submitted", sent.ErrorCount, o.file)
	}
	spec.InputFile = sent.ID
	return spec, nil
}

// spec makes a job of the flags, the argument and the file.
func (o order) spec(sh *shell, args []string) (client.JobSpec, error) {
	spec, err := o.terms(sh)
	if err != nil {
		return spec, err
	}
	var named string // the model that the file names
	switch {
	case len(args) == 1 && o.file != "":
		return spec, usageError{"a prompt and --file were both given; give only one"}
	case len(args) == 1:
		if err := refuseFileName("jobs submit", args[0]); err != nil {
			return spec, err
		}
		spec.Input, err = sh.prompt(args[0])
	case o.file != "":
		named, err = sh.readInputs(o.file, &spec)
	case spec.Prompt == nil:
		return spec, usageError{"nothing to submit: give a prompt, - for standard input, --file or --prompt"}
	}
	if err != nil {
		return spec, err
	}
	if spec.Model = cmp.Or(o.model, named); spec.Model == "" && spec.Prompt == nil {
		return spec, usageError{`the model is missing: add --model ("penstock models list" shows them)`}
	}
	return spec, nil
}

const tagForm = "--tag must look like key:value"

// cutTag divides a tag of a flag at its first colon or equals sign: the flags took KEY=VALUE only, whose value may have a colon.
func cutTag(text string) (key, value string, ok bool) {
	i := strings.IndexAny(text, ":=")
	if i < 1 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

func readTags(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	tags := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		key, value, ok := cutTag(pair)
		if !ok {
			return nil, usageError{tagForm}
		}
		tags[key] = value
	}
	return tags, nil
}

// maxInputBytes is the largest body that any server can be configured to take.
const maxInputBytes = 64 << 20

func (sh *shell) prompt(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := readAll(sh.stdin, "standard input")
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = errors.New("standard input is empty; write the prompt to it")
	}
	return strings.TrimSuffix(string(text), "\n"), err
}

func readAll(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInputBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(text) > maxInputBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes; submit it in parts", name, maxInputBytes)
	}
	return text, nil
}

// readInputs puts what a file holds into the spec and returns the model that its bodies name.
func (sh *shell) readInputs(path string, spec *client.JobSpec) (model string, err error) {
	name, src := path, sh.stdin
	if path == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("reading the inputs: %w", err)
		}
		defer f.Close()
		src = f
	}
	text, err := readAll(src, name)
	if err != nil {
		return "", err
	}
	values, err := splitJSON(name, text)
	if err != nil {
		return "", err
	}
	if len(values) == 1 && !has(values[0].text, "body") && !(spec.Prompt != nil && has(values[0].text, "variables")) {
		spec.Input = values[0].text
		return modelOf(values[0].text), nil
	}
	for _, v := range values {
		if err := v.addTo(spec); err != nil {
			return "", fmt.Errorf("%s:%d: %w", name, v.line, err)
		}
	}
	return modelOf(values[0].body()), nil
}

// jsonValue is one of the values in a file, and where it begins.
type jsonValue struct {
	text json.RawMessage
	line int
}

// splitJSON reads all values of a file; they need not stand on lines of their own.
func splitJSON(name string, text []byte) ([]jsonValue, error) {
	var values []jsonValue
	dec := json.NewDecoder(bytes.NewReader(text))
	for at, line := 0, 1; ; {
		next := int(dec.InputOffset())
		next = len(text) - len(bytes.TrimLeft(text[next:], " \t\r\n"))
		line += bytes.Count(text[at:next], []byte("\n"))
		at = next
		v := jsonValue{line: line}
		err := dec.Decode(&v.text)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: this is not JSON: %w", name, line, err)
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s is empty; it needs a body, or lines of inputs", name)
	}
	return values, nil
}

// inputLine is a line of inputs. Method and URL are what OpenAI's batch files have in addition.
type inputLine struct {
	CustomID  string            `json:"custom_id"`
	Method    string            `json:"method"`
	URL       penstock.Endpoint `json:"url"`
	Body      json.RawMessage   `json:"body"`
	Variables json.RawMessage   `json:"variables"`
}

func (v jsonValue) addTo(spec *client.JobSpec) error {
	dec := json.NewDecoder(bytes.NewReader(v.text))
	dec.DisallowUnknownFields()
	var in inputLine
	if err := dec.Decode(&in); err != nil {
		return fmt.Errorf(`an input must look like {"custom_id":"row-1","body":{…}}: %w`, err)
	}
	if in.Body == nil && in.Variables == nil {
		return errors.New(`the input has no body; it must look like {"custom_id":"row-1","body":{…}}`)
	}
	if in.URL != "" && spec.Endpoint != "" && in.URL != spec.Endpoint {
		return fmt.Errorf("this input is for %s, but earlier inputs are for %s; submit one job for each endpoint", in.URL, spec.Endpoint)
	}
	spec.Endpoint = cmp.Or(spec.Endpoint, in.URL)
	input := client.Input{CustomID: in.CustomID}
	if in.Body != nil {
		input.Body = in.Body
	}
	if in.Variables != nil {
		input.Variables = in.Variables
	}
	spec.Inputs = append(spec.Inputs, input)
	return nil
}

func (v jsonValue) body() json.RawMessage {
	var in inputLine
	_ = json.Unmarshal(v.text, &in) // addTo has read it before
	return in.Body
}

// has reports whether a value is an object with a member of that name.
func has(text json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // what is no object has no members
	_, ok := members[name]
	return ok
}

// modelOf is the model that a body names, "" for none.
func modelOf(body json.RawMessage) string {
	var named struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &named) // the server says what is wrong with a body
	return named.Model
}
