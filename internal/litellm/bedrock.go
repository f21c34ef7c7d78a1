package litellm

import (
	"regexp"
	"strings"

	"penstock/internal/provider/preset"
)

// awsRegion is a region in front of the model: bedrock/eu-central-1/anthropic.claude-v2.
var awsRegion = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// bedrockModel takes the parts out of a name of Bedrock's models that are no part of the model: the way to call it, and the region.
func bedrockModel(name string) (model, region string) {
	for _, way := range []string{"converse/", "converse_like/", "invoke/"} { // Penstock calls all models through Converse
		name = strings.TrimPrefix(name, way)
	}
	if first, rest, ok := strings.Cut(name, "/"); ok && awsRegion.MatchString(first) {
		return rest, first
	}
	return name, ""
}

// bedrock finds or adds the provider of a deployment at AWS. LiteLLM finds credentials as AWS's SDK does; Penstock takes a key.
func (im *importer) bedrock(s *section, v vendor, region string) string {
	p := &provider{Kind: v.Kind, BaseURL: im.reference(s.text("aws_bedrock_runtime_endpoint"), "https://bedrock.example"), AWS: map[string]string{}}
	if written := s.text("aws_region_name"); written != "" {
		region = im.reference(written, "us-east-1")
	}
	if region == "" {
		region = im.reference(environ+"AWS_REGION_NAME", "us-east-1") // as LiteLLM does
	}
	p.AWS["region"] = region
	if key := s.take("api_key"); key != nil {
		p.APIKey = im.secret(s.at("api_key"), key, v.variable, "BEDROCK_API_KEY")
		return im.addProvider(v, p)
	}
	id, secret := s.take("aws_access_key_id"), s.take("aws_secret_access_key")
	if id == nil && secret == nil {
		im.carried(s.path, "it has no credentials: set %s and %s, or api_key of the provider to a Bedrock API key. Penstock reads no profiles, roles or metadata of instances",
			preset.AWSAccessKeyVariable, preset.AWSSecretKeyVariable)
	}
	p.AWS["access_key_id"] = im.secret(s.at("aws_access_key_id"), id, preset.AWSAccessKeyVariable, "BEDROCK_ACCESS_KEY_ID")
	p.AWS["secret_access_key"] = im.secret(s.at("aws_secret_access_key"), secret, preset.AWSSecretKeyVariable, "BEDROCK_SECRET_ACCESS_KEY")
	if token := s.take("aws_session_token"); token != nil {
		p.AWS["session_token"] = im.secret(s.at("aws_session_token"), token, preset.AWSSessionVariable, "BEDROCK_SESSION_TOKEN")
	}
	return im.addProvider(v, p)
}
