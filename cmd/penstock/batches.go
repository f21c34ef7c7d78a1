package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) batchesCommand() *cobra.Command {
	return noun("batches", "Run files by OpenAI's batch API", sh.batchesCreateCommand(), sh.batchesListCommand(), sh.batchesGetCommand(), sh.batchesCancelCommand())
}

func (sh *shell) batchesCreateCommand() *cobra.Command {
	var endpoint string
	c := &cobra.Command{
		Use: "create FILE", Short: "Run the lines of a file", Args: takes("the file's id, or its path"),
		Long: `Runs a file that was uploaded (file_…), or uploads a local file and runs it. The batch
is a job too: "penstock jobs list" shows it.`,
		Example: "  penstock batches create inputs.jsonl\n  penstock batches create file_01JQ… --endpoint /v1/embeddings",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
			id, err := sh.uploaded(c, cl, args[0])
			if err != nil {
				return err
			}
			b, err := client.Batches{Client: cl}.Create(c.Context(), id, penstock.Endpoint(endpoint))
			if err != nil {
				return err
			}
			return sh.printBatch(b)
		}),
	}
	c.Flags().StringVar(&endpoint, "endpoint", string(penstock.EndpointChat), "endpoint that the lines are for")
	return c
}

// uploaded is the id of a file on the server. A local file is uploaded.
func (sh *shell) uploaded(c *cobra.Command, cl *client.Client, name string) (string, error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		if _, wrong := penstock.ViewFile.Parse(name); wrong != nil {
			return "", usageError{fmt.Sprintf("%q is neither a file here nor the id of one on the server (file_…)", name)}
		}
		return name, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the file: %w", err)
	}
	defer file.Close()
	f, err := cl.UploadFile(c.Context(), filepath.Base(name), file)
	if err != nil {
		return "", err
	}
	if f.ErrorCount > 0 {
		return "", sh.printFile(f)
	}
	return f.ID, nil
}

func (sh *shell) batchesListCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List batches, newest first", Args: takes(), Example: "  penstock batches list",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, _ []string) error {
			if limit < 1 {
				return usageError{"--limit must be at least 1"}
			}
			all, err := firstOf(client.Batches{Client: cl}.List(c.Context()), limit)
			if err != nil {
				return err
			}
			return sh.batchLook().show(sh, all)
		}),
	}
	c.Flags().IntVar(&limit, "limit", 20, "maximum number")
	return c
}

func (sh *shell) batchLook() look[*client.Batch] {
	return look[*client.Batch]{
		header: []string{"BATCH", "STATUS", "DONE", "FAILED", "MODEL", "INPUT", "OUTPUT", "CREATED"},
		cells: func(b *client.Batch) []string {
			n := b.RequestCounts
			return []string{b.ID, b.Status, fmt.Sprintf("%d/%d", n.Completed, n.Total), fmt.Sprint(n.Failed), b.Model, b.InputFileID, b.OutputFileID, sh.when(time.Unix(b.CreatedAt, 0))}
		},
		raw:   func(b *client.Batch) json.RawMessage { return b.Raw },
		empty: "No batches.",
	}
}

func (sh *shell) batchesGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get BATCH", Short: "Show a batch", Args: takes("the batch's id"), Example: "  penstock batches get batch_01JQ…",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
			b, err := client.Batches{Client: cl}.Read(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printBatch(b)
		}),
	}
}

func (sh *shell) batchesCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel BATCH", Short: "Ask a batch to stop", Args: takes("the batch's id"), Example: "  penstock batches cancel batch_01JQ…",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
			b, err := client.Batches{Client: cl}.Cancel(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printBatch(b)
		}),
	}
}

func (sh *shell) printBatch(b *client.Batch) error {
	if sh.output == outputJSON {
		return sh.raw(b.Raw)
	}
	why := ""
	if b.Errors != nil && len(b.Errors.Data) > 0 {
		why = b.Errors.Data[0].Message
	}
	n := b.RequestCounts
	return sh.describe(
		field{"Batch", b.ID}, field{"Status", b.Status}, field{"Endpoint", string(b.Endpoint)}, field{"Model", b.Model},
		field{"Done", fmt.Sprintf("%d of %d, %d failed", n.Completed, n.Total, n.Failed)}, field{"Input", b.InputFileID},
		field{"Output", b.OutputFileID}, field{"Errors", b.ErrorFileID}, field{"Created", sh.when(time.Unix(b.CreatedAt, 0))}, field{"Error", why},
	)
}
