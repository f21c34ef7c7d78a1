package api

import (
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/body"
	"penstock/internal/rest"
)

// The headers in which a caller attributes a call, in canonical form.
const (
	headerTags    = "X-Penstock-Tags"
	headerSubject = "X-Penstock-Subject"
)

var (
	tagsParam = rest.Param{Name: "x-penstock-tags", In: "header", About: "What the call is attributed to, as key:value pairs with commas between them, such as team:search,feature:chat; " +
		"other characters percent-encoded. They appear in usage and in the record, and budgets can be set by tag. They replace metadata of the body with the same key."}
	subjectParam = rest.Param{Name: "x-penstock-subject", In: "header", About: "The end user that the call is about, at most 512 bytes. Without it: safety_identifier or user of OpenAI's bodies, metadata.user_id of Anthropic's."}
)

// labelsOf reads what a caller attributes a call to: from its body, as SDKs send it, and from headers, which count more. The body
// is passed on as it is, so a member of it that is no label is no error. Codes: invalid_request.
func (c *call) labelsOf(endpoint penstock.Endpoint, o *body.Object) (penstock.Labels, error) {
	l, h := bodyLabels(endpoint, o), c.R.Header
	if err := checkHeaders(h, c.Principal.Kind); err != nil {
		return l, err
	}
	if values := h[headerTags]; len(values) > 0 {
		tags, err := readTags(values)
		if err != nil {
			return l, err
		}
		for name, value := range l.Tags {
			if _, given := tags[name]; !given && len(tags) < admit.MaxTags {
				tags[name] = value
			}
		}
		l.Tags = tags
	}
	if subject := h[headerSubject]; len(subject) > 0 {
		if l.Subject = subject[0]; len(subject) > 1 || !admit.ValidSubject(l.Subject) {
			return l, penstock.InvalidParam("x-penstock-subject", "x-penstock-subject must be given once, as printable text of 1 to %d bytes.", admit.MaxSubjectBytes)
		}
	}
	return l, nil
}

// bodyLabels are the labels in the members that both vendors have for them.
func bodyLabels(endpoint penstock.Endpoint, o *body.Object) (l penstock.Labels) {
	metadata := o.Raw("metadata")
	if endpoint == penstock.EndpointMessages || endpoint == penstock.EndpointCountTokens {
		if len(metadata) > 0 {
			var m struct {
				UserID string `json:"user_id"`
			}
			if json.Unmarshal(metadata, &m, rest.Lenient) == nil {
				l.Subject = m.UserID
			}
		}
	} else {
		if l.Subject, _ = o.String("safety_identifier"); l.Subject == "" {
			l.Subject, _ = o.String("user")
		}
		if len(metadata) > 0 {
			l.Tags = metadataTags(metadata)
		}
	}
	if !admit.ValidSubject(l.Subject) {
		l.Subject = ""
	}
	return l
}

// metadataTags are the members of metadata that can be tags: strings within the bounds, as many as a call may have.
func metadataTags(metadata jsontext.Value) map[string]string {
	members, err := body.Scan(metadata)
	if err != nil {
		return nil
	}
	var tags map[string]string
	for _, m := range members.Members {
		value, err := members.String(m.Name)
		if err != nil || !admit.ValidTag(m.Name, value) || penstock.ReservedTag(m.Name) || len(tags) == admit.MaxTags {
			continue
		}
		if tags == nil {
			tags = map[string]string{}
		}
		tags[m.Name] = value
	}
	return tags
}

// readTags reads the header with tags. Codes: invalid_request.
func readTags(values []string) (map[string]string, error) {
	tags := map[string]string{}
	for pair := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=") // clients encode an equals sign of a value: this is the older form
		if !ok {
			name, value, ok = strings.Cut(pair, ":")
		}
		name, failed := url.PathUnescape(strings.TrimSpace(name))
		value, wrong := url.PathUnescape(strings.TrimSpace(value))
		if !ok || failed != nil || wrong != nil {
			return nil, penstock.InvalidParam("x-penstock-tags", "x-penstock-tags must be key:value pairs such as team:search,feature:chat; %q is not one.", rest.Clip(pair))
		}
		if _, twice := tags[name]; twice {
			return nil, penstock.InvalidParam("x-penstock-tags", "x-penstock-tags gives %q twice.", rest.Clip(name))
		}
		tags[name] = value
	}
	return tags, admit.CheckTags(tags, "x-penstock-tags")
}
