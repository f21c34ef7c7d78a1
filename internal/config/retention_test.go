package config

import (
	"testing"
	"time"

	"penstock"
)

func hours(results, events, idempotency time.Duration) penstock.Retention {
	return penstock.Retention{
		Results: results * time.Hour, Events: events * time.Hour, Idempotency: idempotency * time.Hour, Files: DefaultRetentionFiles,
	}
}

// TestRetentionOf holds that a tenant has what it says, else what holds for all; that events never
// outlast results; and that a tenant that is gone from the file is not kept for good.
func TestRetentionOf(t *testing.T) {
	t.Parallel()
	s, err := NewSnapshot(File{
		Retention: Retention{Results: 100 * time.Hour, Idempotency: 48 * time.Hour},
		Tenants: map[string]TenantConfig{
			"plain": {},
			"brief": {Retention: Retention{Results: 6 * time.Hour}},
			"long":  {Retention: Retention{Results: 500 * time.Hour, Events: 200 * time.Hour, Idempotency: 24 * time.Hour}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[penstock.TenantID]penstock.Retention{
		"plain": hours(100, 24, 48), "brief": hours(6, 6, 48), "long": hours(500, 200, 24), "gone": hours(100, 24, 48),
	} {
		if got := s.RetentionOf(id); got != want {
			t.Errorf("%s is kept for %+v, want %+v", id, got, want)
		}
	}
}

// TestReloadChangesRetention holds that windows change without a restart, and without a new hash: they
// decide nothing about an inference.
func TestReloadChangesRetention(t *testing.T) {
	t.Parallel()
	of := func(results time.Duration) *Snapshot {
		s, err := NewSnapshot(File{Retention: Retention{Results: results}, Tenants: map[string]TenantConfig{"search": {}}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	live := NewLive(of(100 * time.Hour))
	before := live.Current().Hash
	for _, change := range live.Swap(of(50 * time.Hour)) {
		if change.AtRestart {
			t.Errorf("%s waits for a restart", change)
		}
	}
	if got := live.Current().RetentionOf("search").Results; got != 50*time.Hour || live.Current().Hash != before {
		t.Errorf("after the reload results are kept for %v under %s, before under %s", got, live.Current().Hash, before)
	}
}

func TestDiskFloor(t *testing.T) {
	t.Parallel()
	const gib, disk = 1 << 30, 100 << 30
	for written, want := range map[string]uint64{
		"": 512 << 20, "0": 0, "0%": 0, "5%": 5 * gib, "2.5%": 2.5 * gib, "50%": 50 * gib,
		"1GiB": gib, "1.5GiB": 1.5 * gib, "2048MiB": 2 * gib, "512KiB": 512 << 10, "1024TiB": 1 << 50,
	} {
		s, err := NewSnapshot(File{Process: Process{Disk: Disk{MinFree: written}}})
		if err != nil {
			t.Errorf("%q: %v", written, err)
			continue
		}
		if got := s.Process.Disk.Floor(disk); got != want {
			t.Errorf("%q of 100 GiB is %d bytes, want %d", written, got, want)
		}
	}
	for _, written := range []string{"1", "1GB", "-1GiB", "-0GiB", "51%", "-1%", "NaN%", "NaNGiB", "InfGiB", "%", "GiB", "1 GiB", "1025TiB"} {
		if _, err := NewSnapshot(File{Process: Process{Disk: Disk{MinFree: written}}}); err == nil {
			t.Errorf("%q is accepted", written)
		}
	}
}
