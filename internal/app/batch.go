package app

import (
	"time"

	"penstock/internal/attachment"
	"penstock/internal/batch"
	"penstock/internal/dialect/line"
	"penstock/internal/rest"
)

// connectBatches creates the splitter and the finisher of jobs over files. Only workers split. Other processes write result
// files too while no worker is alive, such as after the last one was scaled away.
func (a *app) connectBatches() (err error) {
	if a.splitter, err = batch.NewSplitter(batch.SplitterDeps{
		Store: a.store, Files: a.files, Composer: batch.NewComposer(batch.ComposerDeps{Config: a.live, Tenants: a.directory, Files: attachment.New(a.files), Filters: a.Filters, Overflow: a.overflow, Prompts: newPromptCalls(a), Clock: time.Now}),
		Work: a.topics.work, Jobs: a.topics, Log: a.log, Clock: time.Now,
	}); err != nil {
		return err
	}
	a.finisher, err = batch.NewFinisher(batch.FinisherDeps{
		Store: a.store, Artifacts: a.files, Writer: line.Writer{Failure: rest.ItemFailure}, Jobs: a.topics, Needed: a.finishes, Log: a.log, Clock: time.Now,
	})
	return err
}

// finishes reports whether this process writes the result files of batches: a worker does, and others do while no worker is
// alive.
func (a *app) finishes() bool { return a.Role.works() || a.waiting.Unattended() }
