package middleware

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/wherryhq/wherry"
)

// ByID is a key of [DedupConfig]: the message's id, which it keeps through retries and redrives, and which a publisher that
// publishes again after an unconfirmed try gives again. A foreign message without an id has no key.
func ByID(m wherry.AnyMessage) string { return m.ID() }

// ByBody is a key of [DedupConfig]: the SHA-256 of the body, for publishers that send the same content under new ids. Two
// messages that mean different things must then differ in their bodies, byte for byte; a time or a number in them is enough.
func ByBody(m wherry.AnyMessage) string {
	sum := sha256.Sum256(m.Body())
	return hex.EncodeToString(sum[:])
}
