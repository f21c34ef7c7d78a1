package admit

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"penstock"
	"penstock/internal/dialect"
)

// complete fills in defaults and checks every bound of an order.
func (o *JobOrder) complete(tenant penstock.Tenant, now time.Time) error {
	setDefault(&o.Endpoint, penstock.EndpointChat)
	setDefault(&o.Lane, penstock.LaneStandard)
	setDefault(&o.MaxAttempts, DefaultAttempts)
	setDefault(&o.ItemTimeout, DefaultItemTimeout)
	if !o.Endpoint.Valid() {
		return penstock.InvalidParam("endpoint", "endpoint %q is not served; use one of %s.", clip(string(o.Endpoint)), join(penstock.Endpoints))
	}
	if err := CheckModel(o.Model); err != nil {
		return err
	}
	if err := allowLane(tenant, o.Lane); err != nil {
		return err
	}
	o.Deadline = o.Deadline.UTC().Truncate(time.Microsecond)
	if in := o.Deadline.Sub(now); !o.Deadline.IsZero() && (in <= 0 || in > MaxDeadline) {
		return penstock.InvalidParam("deadline", "deadline must lie within the next %d days.", MaxDeadline/(24*time.Hour))
	}
	if o.MaxAttempts < 1 || o.MaxAttempts > MaxAttempts {
		return penstock.InvalidParam("max_attempts", "max_attempts must be from 1 to %d.", MaxAttempts)
	}
	if o.ItemTimeout < MinItemTimeout || o.ItemTimeout > MaxItemTimeout {
		return penstock.InvalidParam("item_timeout", "item_timeout must be from %v to %v.", MinItemTimeout, MaxItemTimeout)
	}
	if err := checkKey(o.IdempotencyKey); err != nil {
		return err
	}
	if err := CheckTags(o.Tags, "tags"); err != nil {
		return err
	}
	if o.Lines != nil {
		return nil // they were checked when the file was received
	}
	if len(o.Inferences) == 0 {
		return penstock.InvalidParam("inputs", "Nothing to run: a job needs at least one input.")
	}
	return checkCustomIDs(o.Inferences)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func allowLane(t penstock.Tenant, lane penstock.Lane) error {
	if !lane.Valid() {
		return penstock.InvalidParam("lane", "lane %q does not exist; the lanes are %s.", clip(string(lane)), join(penstock.Lanes))
	}
	if !slices.Contains(t.Lanes, lane) {
		return penstock.InvalidParam("lane", "Tenant %s may not use lane %s; it may use %s.", t.ID, lane, join(t.Lanes))
	}
	return nil
}

// CheckModel refuses names that no model can have. Codes: invalid_request.
func CheckModel(name string) error {
	switch {
	case name == "":
		return penstock.InvalidParam("model", "model is missing; GET /v1/models lists the models.")
	case len(name) > MaxModelBytes || !printable(name):
		return penstock.InvalidParam("model", "model must be printable text of at most %d bytes.", MaxModelBytes)
	}
	return nil
}

func checkKey(key string) error {
	if len(key) > MaxKeyBytes || !printable(key) {
		return penstock.InvalidParam("Idempotency-Key", "Idempotency-Key must be printable text of at most %d bytes.", MaxKeyBytes)
	}
	return nil
}

// printable keeps control characters out of tables and logs.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// CheckTags checks the bounds of tags, which a field or a header of that name holds. Codes: invalid_request.
func CheckTags(tags map[string]string, param string) error {
	if len(tags) > MaxTags {
		return penstock.InvalidParam(param, "%s holds %d entries; at most %d are allowed.", param, len(tags), MaxTags)
	}
	for key, value := range tags {
		if penstock.ReservedTag(key) {
			return penstock.InvalidParam(param, "%s[%q]: keys that begin with %s are those of Penstock itself; use another key.", param, clip(key), penstock.ReservedTagPrefix)
		}
		if !ValidTag(key, value) {
			return penstock.InvalidParam(param, "%s[%q]: a key must be printable text of 1 to %d bytes, a value of at most %d.",
				param, clip(key), MaxTagKeyBytes, MaxTagValueBytes)
		}
	}
	return nil
}

// ValidTag reports whether a tag is within its bounds.
func ValidTag(key, value string) bool {
	return key != "" && len(key) <= MaxTagKeyBytes && len(value) <= MaxTagValueBytes && printable(key+value)
}

// ValidSubject reports whether a subject is within its bounds.
func ValidSubject(subject string) bool {
	return subject != "" && len(subject) <= MaxSubjectBytes && printable(subject)
}

func checkCustomIDs(infs []dialect.Inference) error {
	first := make(map[string]int, len(infs))
	for i, inf := range infs {
		if inf.CustomID == "" {
			continue
		}
		param := fmt.Sprintf("inputs[%d].custom_id", i)
		if len(inf.CustomID) > MaxCustomIDBytes || !printable(inf.CustomID) {
			return penstock.InvalidParam(param, "%s must be printable text of at most %d bytes.", param, MaxCustomIDBytes)
		}
		if before, ok := first[inf.CustomID]; ok {
			return penstock.InvalidParam(param, "%s %q is already used by inputs[%d]; it must be unique in a job.",
				param, clip(inf.CustomID), before)
		}
		first[inf.CustomID] = i
	}
	return nil
}
