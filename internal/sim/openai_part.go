package sim

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// Types of the parts of a content, by endpoint.
var (
	chatParts     = []string{"text", "image_url", "input_audio", "file", "refusal"}
	responseParts = []string{"input_text", "input_image", "input_file", "input_audio", "output_text", "refusal", "summary_text", "reasoning_text", "computer_screenshot"}
)

// partFile is the file of a part. Chat completions have its members inside, responses beside the type.
type partFile struct {
	FileID   string `json:"file_id"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
}

// element names an element of a list as OpenAI does: messages[0].
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// unsupported returns the error for a value that is not in the list of allowed values.
func unsupported(param, word string, allowed []string) error {
	return invalid(param, "Invalid value for '"+param+"': '"+abridge(word)+"'. Supported values are: '"+strings.Join(allowed, "', '")+"'.")
}

// oneOf checks a word that must be there and be one of those allowed.
func oneOf(param, word string, allowed []string) error {
	switch {
	case word == "":
		return required(param)
	case !slices.Contains(allowed, word):
		return unsupported(param, word, allowed)
	}
	return nil
}

// checkParts refuses the parts that OpenAI refuses. The place of the content is at.
func (c *content) checkParts(at string, types []string) error {
	for i := range c.parts {
		place := element(at, i)
		if err := oneOf(place+".type", c.parts[i].Type, types); err != nil {
			return err
		}
		if err := c.parts[i].check(place); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a part without what its type needs.
func (p *contentPart) check(at string) error {
	switch p.Type {
	case "text", "input_text", "output_text":
		if p.Text == nil {
			return required(at + ".text")
		}
	case "image_url":
		if p.ImageURL == "" {
			return required(at + ".image_url.url")
		}
		return checkImage(at+".image_url.url", string(p.ImageURL))
	case "input_image":
		if p.ImageURL == "" && p.FileID == "" {
			return required(at + ".image_url")
		}
		return checkImage(at+".image_url", string(p.ImageURL))
	case "file":
		return p.File.check(at + ".file")
	case "input_file":
		return p.partFile.check(at)
	case "input_audio":
		if p.InputAudio.Data == "" {
			return required(at + ".input_audio.data")
		}
		return checkBase64(at+".input_audio.data", p.InputAudio.Data)
	}
	return nil
}

// check refuses a file that is nowhere, and data that is no base64.
func (f *partFile) check(at string) error {
	if *f == (partFile{}) {
		return required(at + ".file_id")
	}
	_, data, isURL := strings.Cut(f.FileData, ",")
	if !isURL {
		data = f.FileData
	}
	return checkBase64(at+".file_data", data)
}

// imageTypes are the images that OpenAI reads.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// checkImage refuses a URL that OpenAI cannot read an image from. An image that is named by a file has none.
func checkImage(param, url string) error {
	rest, isData := strings.CutPrefix(url, "data:")
	if !isData {
		if url != "" && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
			return invalid(param, "Invalid '"+param+"': expected a URL that begins with http:// or https://, or a data URL of an image.")
		}
		return nil
	}
	head, data, _ := strings.Cut(rest, ",")
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	kind, _, _ = strings.Cut(kind, ";")
	if kind = strings.ToLower(kind); kind != "image/jpg" && !slices.Contains(imageTypes, kind) {
		return invalid(param, "Invalid '"+param+"': unsupported image type '"+abridge(kind)+"'. Supported types are: "+strings.Join(imageTypes, ", ")+".")
	}
	if !isBase64 || data == "" {
		return invalid(param, "Invalid '"+param+"': expected a base64-encoded data URL of an image.")
	}
	return checkBase64(param, data)
}

// checkBase64 refuses data that is no base64.
func checkBase64(param, data string) error {
	if !isBase64(data) {
		return invalid(param, "Invalid '"+param+"': the data is not valid base64.")
	}
	return nil
}

// isBase64 accepts data with and without padding.
func isBase64(data string) bool {
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(data, "="))
	return err == nil
}
