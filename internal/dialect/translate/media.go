package translate

import (
	"strings"
)

// pdf is the one type of document that both dialects take.
const pdf = "application/pdf"

// cutDataURL splits a data URL that holds base64 into its media type and its data.
func cutDataURL(url string) (mediaType, data string, ok bool) {
	rest, isData := strings.CutPrefix(url, "data:")
	head, data, hasComma := strings.Cut(rest, ",")
	mediaType, isBase64 := strings.CutSuffix(head, ";base64")
	mediaType, _, _ = strings.Cut(mediaType, ";") // without parameters, such as a name
	return mediaType, data, isData && hasComma && isBase64 && mediaType != ""
}

func dataURL(s source) string { return "data:" + s.MediaType + ";base64," + s.Data }

func isWebAddress(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

func (t *messageBuilder) image(where string, image chatImage) (block, error) {
	t.dropUnknown(where, image.Unknown)
	if image.Detail != "" && image.Detail != "auto" {
		t.drop(where + ".detail")
	}
	if isWebAddress(image.URL) {
		return block{Type: "image", Source: &source{Type: "url", URL: image.URL}}, nil
	}
	if mediaType, data, ok := cutDataURL(image.URL); ok {
		return block{Type: "image", Source: &source{Type: "base64", MediaType: mediaType, Data: data}}, nil
	}
	return block{}, untranslatable(where+".url", "Use an http or https address, or a data URL in base64.")
}

func (t *chatBuilder) image(where string, s source) (chatPart, error) {
	t.dropUnknown(where, s.Unknown)
	switch {
	case s.Type == "url" && isWebAddress(s.URL):
		return chatPart{Type: "image_url", ImageURL: &chatImage{URL: s.URL}}, nil
	case s.Type == "base64" && s.MediaType != "":
		return chatPart{Type: "image_url", ImageURL: &chatImage{URL: dataURL(s)}}, nil
	}
	return chatPart{}, untranslatable(where, "Use a source of type base64, or of type url with an http or https address.")
}

func (t *messageBuilder) document(where string, file chatFile) (block, error) {
	t.dropUnknown(where, file.Unknown)
	mediaType, data, ok := cutDataURL(file.FileData)
	if !ok || mediaType != pdf {
		return block{}, untranslatable(where, "Only a PDF in file_data, as a data URL in base64, can be carried.")
	}
	return block{Type: "document", Title: file.Filename, Source: &source{Type: "base64", MediaType: pdf, Data: data}}, nil
}

func (t *chatBuilder) document(where string, b block) (chatPart, error) {
	t.dropUnknown(where+".source", b.Source.Unknown)
	if citationsWanted(b) {
		return chatPart{}, untranslatable(where+".citations", "Leave it out.")
	}
	switch {
	case b.Source.Type == "base64" && b.Source.MediaType == pdf:
		// A file must have a name.
		name := b.Title
		if name == "" {
			name = "document.pdf"
		}
		return chatPart{Type: "file", File: &chatFile{Filename: name, FileData: dataURL(*b.Source)}}, nil
	case b.Source.Type == "text":
		if b.Title != "" {
			t.drop(where + ".title")
		}
		return chatPart{Type: "text", Text: b.Source.Data}, nil
	}
	return chatPart{}, untranslatable(where+".source", "Only a PDF in base64 and plain text can be carried.")
}
