/** Code that checks the signature of a message, for a receiver. The key is the base64 text after `whsec_`. */
export const verifySnippets = [
  {
    value: "node",
    label: "Node",
    text: `import { createHmac, timingSafeEqual } from "node:crypto";

export function verify(headers, body, secret) { // body: the bytes as received
  const id = headers["webhook-id"];
  const time = headers["webhook-timestamp"];
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(\`\${id}.\${time}.\`).update(body).digest();
  return headers["webhook-signature"].split(" ").some((one) => {
    const given = Buffer.from(one.slice("v1,".length), "base64");
    return one.startsWith("v1,") && given.length === mac.length && timingSafeEqual(given, mac);
  });
}`,
  },
  {
    value: "python",
    label: "Python",
    text: `import base64, hashlib, hmac, time

def verify(headers, body: bytes, secret: str) -> bool:
    sent, at = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(at)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{sent}.{at}.".encode() + body, hashlib.sha256).digest()
    want = "v1," + base64.b64encode(mac).decode()
    return any(hmac.compare_digest(want, one) for one in headers["webhook-signature"].split())`,
  },
  {
    value: "go",
    label: "Go",
    text: `func verify(h http.Header, body []byte, secret string) bool {
	id, at := h.Get("webhook-id"), h.Get("webhook-timestamp")
	sent, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for one := range strings.FieldsSeq(h.Get("webhook-signature")) {
		if hmac.Equal([]byte(want), []byte(one)) {
			return true
		}
	}
	return false
}`,
  },
] as const;
