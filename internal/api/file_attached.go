package api

import "penstock"

// attachedView is a file whose content was put into the body of an item or a call.
type attachedView struct {
	Path      string `json:"path" about:"The member that named the file, such as messages[0].content[1].file.file_id."`
	FileID    string `json:"file_id"`
	MediaType string `json:"media_type"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256" about:"The hash of the content, in hex."`
}

// newAttachedViews returns nil for no files: nearly all bodies name none.
func newAttachedViews(files []penstock.AttachedFile) []attachedView {
	var all []attachedView
	for _, f := range files {
		all = append(all, attachedView{Path: f.Path, FileID: penstock.ViewFile.Format(f.File), MediaType: f.MediaType, Bytes: f.Bytes, SHA256: f.SHA256})
	}
	return all
}
