package config

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	// minSecretBits is how hard a secret must be to guess: trying does not find one of 2^128.
	minSecretBits = 128
	// howToDraw ends every complaint about a secret.
	howToDraw = "create one with: openssl rand -base64 24"
)

// SecretProblem says what is wrong with a secret that callers or operators present to us, "" for nothing. How random a text
// is cannot be seen from it; what can be seen is that one is not:
//
//   - It needs as many characters as a random text of 128 bits has: 32 hexadecimal digits, 26 characters of a-z and digits, or 22
//     characters of a-z, A-Z and digits. A prefix of words such as psk_live_ does not count.
//   - At most a quarter of that may be repeated characters, repeated parts, sequences like 1234 and abcd, or common words.
func SecretProblem(secret string) string {
	n := len(secret)
	switch {
	case n > MaxKeySecretLength:
		return fmt.Sprintf("must have at most %d characters", MaxKeySecretLength)
	case !isVisible(secret):
		return "must be visible ASCII characters only: it is sent in a header"
	}
	random := secretPrefix.ReplaceAllString(secret, "")
	if isUUID.MatchString(random) {
		return fmt.Sprintf("is a UUID, which has at most 122 random bits, and a secret needs %d; %s", minSecretBits, howToDraw)
	}
	if bits := float64(len(random)) * bitsEach(random); bits < minSecretBits {
		return fmt.Sprintf("is too short: not counting a prefix, it has at most %.0f random bits, and a secret needs %d; %s", bits, minSecretBits, howToDraw)
	}
	if 4*unpredicted(random) < 3*len(random) {
		return fmt.Sprintf("is too easy to guess: too much of it is words, repetitions or sequences; %s", howToDraw)
	}
	return ""
}

var (
	// secretPrefix is what begins many keys, and says what they are for.
	secretPrefix = regexp.MustCompile(`^(psk|sk|pk|ak|key|api|apikey|token|secret)[_-]([a-z]{2,10}[_-]|e2e[_-]){0,2}`)
	isUUID       = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// bitsEach is how much one character of a text says, if it was chosen from the smallest alphabet that has all of them. Words say
// far less than they are long.
func bitsEach(s string) float64 {
	within := func(alphabet string) bool { return strings.Trim(s, alphabet) == "" } // what is only of it is trimmed away
	switch {
	case within(digits):
		return 3.3
	case within(digits + "abcdef"), within(digits + "ABCDEF"):
		return 4
	case isWords(s):
		return 2.5
	case within(digits + small + separators), within(digits + capital + separators):
		return 5
	case within(digits + small + capital):
		return 5.9
	}
	return 6
}

const (
	digits     = "0123456789"
	small      = "abcdefghijklmnopqrstuvwxyz"
	capital    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	separators = "-_. "
)

// commonPairs are the pairs of characters that English text is made of, and its neighbours: every second pair is one of them, but
// only one in ten of random characters.
const commonPairs = "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra ce " +
	"li ch ll be ma si om ur ck ow ay ee oo ss"

// isWords reports whether a text reads like words: alphabetic characters, in an order that languages have.
func isWords(s string) bool {
	lower := strings.ToLower(s)
	capitals := 0
	for i := range len(s) {
		if s[i] != lower[i] {
			capitals++
		}
	}
	s = lower
	if strings.Trim(s, small+separators) != "" || 4*capitals > len(s) && 10*capitals < 9*len(s) {
		return false // nothing alphabetic, or both cases at random
	}
	common, pairs := 0, 0
	for at := 1; at < len(s); at++ {
		if pair := s[at-1 : at+1]; !strings.ContainsAny(pair, separators) {
			pairs++
			if strings.Contains(commonPairs, pair) {
				common++
			}
		}
	}
	vowels, alphabetic := 0, 0
	for i := range len(s) {
		alphabetic += strings.Count(small, s[i:i+1])
		vowels += strings.Count("aeiou", s[i:i+1])
	}
	return 3*common >= pairs && 10*vowels >= 3*alphabetic
}

const (
	// A repeated part or a sequence counts from this length on; random text has shorter ones.
	minRepeat   = 3
	minSequence = 4
)

// commonWords are what people write where a secret should stand.
var commonWords = []string{
	"password", "passwort", "passw0rd", "secret", "changeme", "change", "example", "penstock", "administrator", "admin", "default", "letmein",
	"welcome", "qwerty", "qwertz", "asdfgh", "token", "apikey", "production", "staging", "development", "testing", "test", "demo", "local", "hello",
	"world", "company", "master", "replace", "insert", "dummy", "sample", "foobar", "please", "your", "this", "that", "with", "long", "enough",
	"random", "string", "characters", "minimum", "secure", "very", "super", "openai", "anthropic", "gateway", "client", "server", "service", "tenant",
}

// unpredicted counts the characters of a text that do not follow from those before them: a repeated part, a sequence and a
// common word count as one character each.
func unpredicted(s string) (n int) {
	lower := strings.ToLower(s)
	for at := 0; at < len(s); n++ {
		at += max(1, repeated(s, at), sequence(s, at), word(lower[at:]))
	}
	return n
}

// repeated is how much of what begins at a place stood somewhere before it.
func repeated(s string, at int) int {
	longest := 0
	for length := minRepeat; at+length <= len(s) && strings.Contains(s[:at+length-1], s[at:at+length]); length++ {
		longest = length
	}
	return longest
}

// sequence is how many characters from a place on have the same distance from each other, be it none.
func sequence(s string, at int) int {
	if at+1 >= len(s) {
		return 0
	}
	step := int(s[at+1]) - int(s[at])
	if step < -1 || step > 1 {
		return 0
	}
	end := at + 1
	for end+1 < len(s) && int(s[end+1])-int(s[end]) == step {
		end++
	}
	if length := end + 1 - at; length >= minSequence {
		return length
	}
	return 0
}

func word(s string) (longest int) {
	for _, w := range commonWords {
		if strings.HasPrefix(s, w) {
			longest = max(longest, len(w))
		}
	}
	return longest
}
