package store_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"penstock/internal/store"
)

// frozen is the whole contract. It does not grow any more.
const frozen = `
	AcquireLease AppendDeltas Attempts AuditEntries Backlogs Balances Batch BudgetStates CancelItems CancelJob ChangeKey
	ChangeTenant Check ClaimBatch ClaimItems ClaimSuspects CountDeadLetters CreateFile CreateKey CreateTenant
	DeadLetterGroups DeadLetterJobs DeadLetters DeleteFile DeleteJob DeleteTenant Depths DirectoryChanges
	DismissDeadLetters Events ExpireItems File FinishBatch FinishItems ForfeitBudgets HeldItems Hold Item ItemInput Items
	Job JobByKey JobEntries LiftControl ListBatches ListControls ListFiles ListJobs ListKeys ListTenants NoteReload
	OpenResolutions Processes PurgeBlobs PurgeEvents PurgeFiles PurgeItems PurgeJobs PurgeKeys PurgeRequests
	RecordRequests RefuseBatch ReleaseLease RenewLease Request RescueItems Results RetryItems Retryable ReturnBudgets
	RevokeKey RotateKey SaveSnapshot SaveTenants SetControl Spending SplitJob Stored StoredByTenant SubmitJob Suspects
	TenantIDs TouchKeys UnfinishedBatches UnsplitJobs VerifyLedger WantResults Withdraw
`

// TestStoreIsFrozen holds that store.Store, the queue's and the money's store, takes no new methods.
func TestStoreIsFrozen(t *testing.T) {
	t.Parallel()
	want := strings.Fields(frozen)
	var got []string
	for method := range reflect.TypeFor[store.Store]().Methods() {
		got = append(got, method.Name)
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("store.Store has a new method, %s. It is frozen: a new capability keeps its tables in an SQL package of its own "+
				"over store/sqldb, with its own migrations. docs/how-to/add-a-capability.md shows every file of one.", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("store.Store has no method %s any more; remove it from the list, so that it does not come back", name)
		}
	}
}
