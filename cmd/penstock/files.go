package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) filesCommand() *cobra.Command {
	return noun("files", "Upload files and download them",
		sh.filesListCommand(), sh.filesGetCommand(), sh.filesUploadCommand(), sh.filesDownloadCommand(), sh.filesDeleteCommand())
}

func (sh *shell) filesListCommand() *cobra.Command {
	var limit int
	var purpose string
	c := &cobra.Command{
		Use: "list", Short: "List files, newest first", Args: takes(), Example: "  penstock files list\n  penstock files list --purpose user_data",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, _ []string) error {
			if limit < 1 {
				return usageError{"--limit must be at least 1"}
			}
			all, err := firstOf(client.Files{Client: cl}.ListPurpose(c.Context(), purpose), limit)
			if err != nil {
				return err
			}
			return sh.fileLook().show(sh, all)
		}),
	}
	c.Flags().IntVar(&limit, "limit", 20, "maximum number")
	c.Flags().StringVar(&purpose, "purpose", "", "only files with this `PURPOSE`: batch, batch_output, user_data or vision")
	return c
}

func (sh *shell) fileLook() look[*client.File] {
	return look[*client.File]{
		header: []string{"FILE", "NAME", "PURPOSE", "STATUS", "LINES", "BYTES", "CREATED"},
		cells: func(f *client.File) []string {
			return []string{f.ID, f.Filename, f.Purpose, f.Status, strconv.Itoa(f.Lines), bytesText(f.Bytes), sh.when(time.Unix(f.CreatedAt, 0))}
		},
		raw:   func(f *client.File) json.RawMessage { return f.Raw },
		empty: "No files.",
	}
}

// calling makes the run of a command that calls the API.
func (sh *shell) calling(tries int, run func(*cobra.Command, *client.Client, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		cl, err := sh.connect(tries)
		if err != nil {
			return err
		}
		return run(c, cl, args)
	}
}

func (sh *shell) filesGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get FILE", Short: "Show a file's metadata", Args: takes("the file's id"), Example: "  penstock files get file_01JQ…",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
			f, err := client.Files{Client: cl}.Read(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printFile(f)
		}),
	}
}

func (sh *shell) printFile(f *client.File) error {
	if sh.output == outputJSON {
		return sh.raw(f.Raw)
	}
	err := sh.describe(
		field{"File", f.ID}, field{"Name", f.Filename}, field{"Purpose", f.Purpose}, field{"Status", f.Status}, field{"Lines", strconv.Itoa(f.Lines)},
		field{"Bytes", bytesText(f.Bytes)}, field{"Created", sh.when(time.Unix(f.CreatedAt, 0))}, field{"Expires", sh.when(time.Unix(f.ExpiresAt, 0))},
	)
	if err != nil || f.Errors == nil {
		return err
	}
	for _, e := range f.Errors.Data {
		fmt.Fprintf(sh.stderr, "line %d: %s\n", e.Line, clean(e.Message))
	}
	return fmt.Errorf("%d lines are invalid; a batch over the file is refused", f.ErrorCount)
}

func (sh *shell) filesUploadCommand() *cobra.Command {
	purpose := client.PurposeBatch
	c := &cobra.Command{
		Use: "upload PATH", Short: "Upload a file", Args: takes("the path of the file"),
		Long: "Uploads a file. With the purpose batch it has requests, one per line, for a job or a batch:\n" +
			"the command exits with 1 if lines are invalid. With the purpose user_data (a PDF, an image or\n" +
			"a text) or vision (an image) it is for requests that name it.",
		Example: "  penstock files upload inputs.jsonl\n  penstock files upload report.pdf --purpose user_data",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("reading the file: %w", err)
			}
			defer file.Close()
			f, err := client.Files{Client: cl}.Upload(c.Context(), client.FileUpload{Name: filepath.Base(args[0]), Purpose: purpose, Content: file})
			if err != nil {
				return err
			}
			return sh.printFile(f)
		}),
	}
	c.Flags().StringVar(&purpose, "purpose", purpose, "`PURPOSE` of the file: batch, user_data or vision")
	return c
}

func (sh *shell) filesDownloadCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use: "download FILE", Short: "Download the content of a file", Args: takes("the file's id"),
		Example: "  penstock files download file_01JQ… > results.jsonl\n  penstock files download file_01JQ… --to results.jsonl",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
			out := sh.stdout
			if to == "" {
				_, err := client.Files{Client: cl}.Download(c.Context(), args[0], out)
				return err
			}
			file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return fmt.Errorf("writing the download: %w", err)
			}
			return closing(file, func() error { _, err := client.Files{Client: cl}.Download(c.Context(), args[0], file); return err })
		}),
	}
	c.Flags().StringVar(&to, "to", "", "`PATH` to write to, which must not exist (standard output)")
	return c
}

// closing does something with a file and closes it; both may fail.
func closing(file io.Closer, do func() error) error {
	err := do()
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func (sh *shell) filesDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete FILE", Short: "Delete a file", Args: takes("the file's id"), Example: "  penstock files delete file_01JQ…",
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
			if err := (client.Files{Client: cl}).Delete(c.Context(), args[0]); err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(struct {
					ID      string `json:"id"`
					Deleted bool   `json:"deleted"`
				}{args[0], true})
			}
			return sh.describe(field{"Deleted", args[0]})
		}),
	}
}

// bytesText shows a number of bytes in its largest unit.
func bytesText(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
