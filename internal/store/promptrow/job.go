package promptrow

import (
	"context"

	"penstock"
	"penstock/internal/store/sqldb"
)

var addJob = sqldb.InsertInto("job_prompts", "tenant_id text, prompt text, version bigint, job_id text", "ON CONFLICT (tenant_id, prompt, version, job_id) DO NOTHING")

// InsertJob writes the prompts that the inputs of a job name. Nearly all jobs name none.
func InsertJob(ctx context.Context, tx sqldb.Tx, j penstock.Job) error {
	for _, p := range j.Resolved.Prompts {
		if err := tx.Put(ctx, addJob, string(j.Tenant), p.Name, p.Version, string(j.ID)); err != nil {
			return err
		}
	}
	return nil
}

// RemoveJob removes the rows of a job.
func RemoveJob(ctx context.Context, tx sqldb.Tx, id penstock.ID) error {
	return tx.Do(ctx, `DELETE FROM job_prompts WHERE job_id = $1`, id)
}

// Hold keeps the versions that the lines of a job name from being deleted before the job is committed; from then on the rows of the job
// do. Codes: gone.
func Hold(ctx context.Context, tx sqldb.Tx, j penstock.Job) error {
	for _, p := range j.Resolved.Prompts {
		_, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM prompt_versions v JOIN prompts p ON p.tenant_id = v.tenant_id AND p.id = v.prompt_id
			WHERE v.tenant_id = $1 AND p.name = $2 AND v.n = $3 AND v.deleted_at = 0 /*pg FOR SHARE OF v */`, j.Tenant, p.Name, p.Version), sqldb.ScanOne[int64])
		if err == nil && !there {
			err = penstock.Errorf(penstock.CodeGone, "Version %d of the prompt %s was deleted.", p.Version, p.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Counts are how often a version is used, each up to a bound.
type Counts struct {
	OpenJobs int64 // that have not finished
	Jobs     int64
	Requests int64 // synchronous calls, and items of jobs whose items use several prompts
}

// Version names a version of a tenant's prompt; with N 0, all versions of it.
type Version struct {
	Tenant penstock.TenantID
	Name   string
	N      int64
	Most   int64 // the bound of each count
}

// Count counts the uses of a version.
func Count(ctx context.Context, tx sqldb.Reader, v Version) (c Counts, err error) {
	for _, one := range []struct {
		into *int64
		rows string
	}{
		{&c.OpenJobs, `job_prompts u JOIN jobs j ON j.id = u.job_id AND j.finished_at = 0`},
		{&c.Jobs, `job_prompts u`},
		{&c.Requests, `prompt_uses u`},
	} {
		*one.into, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM (SELECT 1 FROM `+one.rows+`
			WHERE u.tenant_id = $1 AND u.prompt = $2 AND (u.version = $3 OR $3 = 0) LIMIT $4) AS found`, v.Tenant, v.Name, v.N, v.Most), sqldb.ScanOne[int64])
		if err != nil {
			return c, err
		}
	}
	return c, nil
}
