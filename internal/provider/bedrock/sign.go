package bedrock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// service is the name that signatures are made for.
const service = "bedrock"

// sign returns the headers that prove who sends a body to an address. The host, the date, the type and the body are signed and no other
// header, so that a proxy that adds one does not break the signature.
func (c Credentials) sign(ctx context.Context, to string, text []byte) (http.Header, error) {
	return c.signAt(ctx, to, text, time.Now())
}

func (c Credentials) signAt(ctx context.Context, to string, text []byte, at time.Time) (http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, nil)
	if err != nil {
		return nil, err
	}
	r.ContentLength = int64(len(text))
	r.Header.Set("Content-Type", "application/json")
	sum := sha256.Sum256(text)
	credentials := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}
	if err := v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), service, c.Region, at); err != nil {
		return nil, err
	}
	r.Header.Del("Content-Type") // the exchange sets it
	return r.Header, nil
}
