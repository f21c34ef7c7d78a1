package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// secretPrefix begins every secret, so that one that leaks is recognised.
const secretPrefix = "whsec_"

// FormatSecret is a secret as its owner sees it.
func FormatSecret(secret []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// signatures signs a message with each secret, in the form of the webhook-signature header.
func signatures(secrets [][]byte, m signed) string {
	content := m.id + "." + strconv.FormatInt(m.at.Unix(), 10) + "."
	all := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprint(mac, content)
		mac.Write(m.body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}

// signed is what a signature covers.
type signed struct {
	id   string
	at   time.Time
	body []byte
}
