package dialect

// The parts of content whose price is bounded, in all formats: servers serve several formats over one engine. Tokens of text and of
// audio are fewer than its bytes, an image has at most body.ImageTokens, and documents are counted.
var parts = newParts()

// Content checks what is said: a string, or parts.
func Content(c *Checker, v Value) { parts.List(c, v) }

func newParts() Typed {
	all := Typed{}
	content := Check(all.List)
	common := Passing("type", "cache_control", "citations", "annotations", "logprobs", "id")
	words := common.With(Passing("text"))
	fileID := Refused("file_id") // an upstream's own file
	image := Members{"url": Any, "detail": Any, "uuid": Any}.Object
	source := Members{"type": OneOf("base64", "url", "text", "content", "file"), "media_type": Any, "data": Any, "url": Any, "content": content, "file_id": fileID}.Object
	for _, kind := range []string{"", "text", "input_text", "output_text", "summary_text", "reasoning_text"} {
		all[kind] = words
	}
	all["refusal"] = common.With(Passing("refusal"))
	all["image_url"] = common.With(Members{"image_url": image, "detail": Any})
	all["input_image"] = common.With(Members{"image_url": image, "detail": Any, "file_id": fileID})
	all["image"] = common.With(Members{"source": source})
	all["input_audio"] = common.With(Members{"input_audio": Passing("data", "format").Object})
	all["document"] = common.With(Members{"source": All(source, documentSource), "title": Any, "context": Any})
	all["file"] = common.With(Members{"file": All(Members{"file_data": Document, "filename": Any, "format": Any, "file_id": fileID}.Object)})
	all["input_file"] = common.With(Members{"file_data": Document, "file_url": Document, "filename": Any, "detail": Any, "file_id": fileID})
	all["tool_use"] = common.With(Passing("name", "input", "caller"))
	all["tool_result"] = common.With(Members{"tool_use_id": Any, "content": content, "is_error": Any})
	all["thinking"] = common.With(Passing("thinking", "signature"))
	all["redacted_thinking"] = common.With(Passing("data"))
	all["search_result"] = common.With(Members{"source": Any, "title": Any, "content": content})
	return all
}

// documentSource counts a document that is not text: the words of a source of type text or content stand in the body themselves.
func documentSource(c *Checker, v Value) {
	o, ok := c.scan(v)
	if !ok {
		return
	}
	if kind := Text(o.Raw("type")); kind == "base64" || kind == "url" {
		c.Documents++
	}
}

// sampling are members by which servers are told how to sample.
var sampling = []string{
	"temperature", "top_p", "top_k", "min_p", "typical_p", "tfs_z", "seed", "stop", "repeat_penalty", "repeat_last_n", "repetition_penalty", "presence_penalty",
	"frequency_penalty", "mirostat", "mirostat_eta", "mirostat_tau", "penalize_newline", "num_ctx", "num_keep", "ignore_eos", "skip_special_tokens",
	"type", "effort", "summary", "generate_summary", "enabled", "exclude", "display", "include_thoughts",
}

// BoundMembers are the members by which servers are told how much to generate, and the objects that hold such members. What they ask
// for is reserved (see [Further]); other members of those objects are features.
func BoundMembers() Members {
	_, containers, inside := furtherNames()
	held := Passing(sampling...)
	for _, name := range inside {
		if meanings[name] != meansNothing {
			held[name] = Any
		}
	}
	for _, name := range innerContainers {
		held[name] = held.Object
	}
	all := Members{}
	for name := range meanings {
		all[name] = Any
	}
	for _, name := range containers {
		all[name] = held.Object
	}
	return all
}
