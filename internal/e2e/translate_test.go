package e2e

import "strings"

// What is written here goes through a translation on its way to the upstream and back. The transcript
// shows all four: what the caller said, what the upstream was asked, and what either answered.

// looking offers two calls of one tool to chat completions, with a history that has used it before.
const (
	chatTools     = `"tools":[{"type":"function","function":{"name":"look","description":"Looks up.","parameters":{"type":"object","properties":{"what":{"type":"string"}}}}}]`
	chatHistory   = `{"role":"developer","content":"Be brief."},{"role":"user","content":"Look up the moon."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"what\":\"moon\"}"}},{"id":"call_b","type":"function","function":{"name":"look","arguments":"{\"what\":\"sun\"}"}}]},{"role":"tool","tool_call_id":"call_a","content":"full"},{"role":"tool","tool_call_id":"call_b","content":"up"}`
	chatPictures  = `[{"type":"text","text":"What is on these? [play:text]"},{"type":"image_url","image_url":{"url":"https://example.com/cat.png","detail":"low"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]`
	messageTools  = `"tools":[{"name":"look","description":"Looks up.","input_schema":{"type":"object","properties":{"what":{"type":"string"}}}}]`
	messageBefore = `{"role":"user","content":"Look up the moon."},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_a","name":"look","input":{"what":"moon"}},{"type":"tool_use","id":"toolu_b","name":"look","input":{"what":"sun"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","content":"full"},{"type":"tool_result","tool_use_id":"toolu_b","content":[{"type":"text","text":"up"}]}`
	messageImages = `[{"type":"text","text":"What is on these? [play:text]"},{"type":"image","source":{"type":"url","url":"https://example.com/cat.png"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]`
)

// translated tells a call, and what the upstream was asked instead.
func (s *scene) translated(title, play string, c Call) Answer {
	s.Helper()
	a := s.tell(title, c)
	s.script.note("### what the upstream was asked\n%s\n", s.played.asked(s, play))
	return a
}

// playedChat is the body of a chat of several messages, the parts of which are given as JSON.
func playedChat(messages string, members ...string) string {
	return "{" + strings.Join(append([]string{`"model":"played-claude"`, `"messages":[` + messages + `]`}, members...), ",") + "}"
}

func playedMessage(messages string, members ...string) string {
	return "{" + strings.Join(append([]string{`"model":"played-chats"`, `"max_tokens":4096`, `"messages":[` + messages + `]`}, members...), ",") + "}"
}

// user is a turn of text.
func user(text string) string { return `{"role":"user","content":"` + text + `"}` }

func translateChat(s *scene) {
	a := s.translated("a chat, with what is carried and what is dropped", "messages/text", post(chatPath, playedChat(
		`{"role":"system","content":"Be kind."},`+user("How much? [play:text]"), `"temperature":0.5`, `"stop":["END"]`, `"seed":7`, `"x_unknown":{"a":1}`)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.translated("tools that were used, and are again", "messages/calls",
		post(chatPath, playedChat(chatHistory+","+user("Now both. [play:calls]"), chatTools, `"tool_choice":"required"`, `"parallel_tool_calls":true`)))
	s.translated("pictures", "messages/text", post(chatPath, playedChat(`{"role":"user","content":`+chatPictures+`}`)))
	a = s.translated("thoughts", "messages/thinking", post(chatPath, playedChat(user("Think. [play:thinking]"), `"reasoning_effort":"low"`)))
	s.tell("explained: the thoughts themselves were dropped", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.translated("refused by the upstream", "messages/refused", post(chatPath, playedChat(user("No. [play:refused]"))))
	s.translated("limited by the upstream", "messages/limited", post(chatPath, playedChat(user("No. [play:limited]"))))
	s.tell("what has no words in the other dialect", post(chatPath, playedChat(user("Likely? [play:text]"), `"logprobs":true`)))
	s.tell("a picture of a kind that nobody takes", post(chatPath, playedChat(
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"ftp://example.com/cat.png"}}]}`)))
}

func translateChatStream(s *scene) {
	const streamed = `"stream":true`
	s.translated("a chat", "messages/text", post(chatPath, playedChat(user("How much? [play:text]"), streamed)))
	a := s.translated("a chat that asks for usage", "messages/text",
		post(chatPath, playedChat(user("How much? [play:text]"), streamed, `"stream_options":{"include_usage":true}`)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("two calls of a tool", post(chatPath, playedChat(user("Both. [play:calls]"), chatTools, streamed)))
	s.tell("thoughts", post(chatPath, playedChat(user("Think. [play:thinking]"), `"reasoning_effort":"low"`, streamed)))
	s.tell("refused by the upstream", post(chatPath, playedChat(user("No. [play:refused]"), streamed)))
	a = s.tell("cut in the middle", post(chatPath, playedChat(user("Cut. [play:cut]"), streamed)))
	s.tell("explained: what had been used by then", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
}

func translateMessages(s *scene) {
	a := s.translated("a message, with what is carried and what is dropped", "chat/text", post(messagesPath, playedMessage(
		user("How much? [play:text]"), `"system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}]`,
		`"temperature":0.5`, `"stop_sequences":["END"]`, `"top_k":5`, `"x_unknown":{"a":1}`)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.translated("tools that were used, and are again", "chat/calls", post(messagesPath, playedMessage(
		messageBefore+`,{"type":"text","text":"Now both. [play:calls]"}]}`, messageTools, `"tool_choice":{"type":"any"}`)))
	s.translated("pictures", "chat/text", post(messagesPath, playedMessage(`{"role":"user","content":`+messageImages+`}`)))
	a = s.translated("thoughts", "chat/thinking", post(messagesPath, playedMessage(user("Think. [play:thinking]"), `"thinking":{"type":"enabled","budget_tokens":1024}`)))
	s.tell("explained: the thoughts themselves were dropped", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.translated("refused by the upstream", "chat/refused", post(messagesPath, playedMessage(user("No. [play:refused]"))))
	s.translated("limited by the upstream", "chat/limited", post(messagesPath, playedMessage(user("No. [play:limited]"))))
	s.tell("what has no words in the other dialect", post(messagesPath, playedMessage(user("Twice. [play:text]"), `"mcp_servers":[{"type":"url","url":"https://example.com"}]`)))
	s.tell("the result of a tool that nobody called", post(messagesPath, playedMessage(
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_x","content":"7"}]}`)))
}

func translateMessagesStream(s *scene) {
	const streamed = `"stream":true`
	a := s.translated("a message", "chat/text", post(messagesPath, playedMessage(user("How much? [play:text]"), streamed)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("two calls of a tool", post(messagesPath, playedMessage(user("Both. [play:calls]"), messageTools, streamed)))
	s.tell("thoughts", post(messagesPath, playedMessage(user("Think. [play:thinking]"), `"thinking":{"type":"enabled","budget_tokens":1024}`, streamed)))
	s.tell("refused by the upstream", post(messagesPath, playedMessage(user("No. [play:refused]"), streamed)))
	a = s.tell("cut in the middle", post(messagesPath, playedMessage(user("Cut. [play:cut]"), streamed)))
	s.tell("explained: what had been used by then", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
}
