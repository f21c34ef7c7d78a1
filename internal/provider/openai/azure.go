package openai

import (
	"fmt"
	"net/url"
	"strings"

	"penstock"
	"penstock/internal/provider"
)

// azure is where the models of an Azure resource are found.
type azure struct {
	resource string // its URL, without a path
	query    string // the version of the API, which every call names
}

// NewAzure returns a provider for an OpenAI resource of Azure's. Its BaseURL is the resource's, such as
// https://name.openai.azure.com; upstream models are names of deployments. It does not contact it.
func NewAzure(cfg Config, apiVersion string) (*Provider, error) {
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	resource := strings.TrimRight(cfg.BaseURL, "/")
	if u, err := url.Parse(resource); err != nil || u.Path != "" || u.Host == "" || apiVersion == "" {
		return nil, fmt.Errorf("provider %q: azure: needs a version of the API, and as base_url the resource alone, "+
			"such as https://name.openai.azure.com", cfg.Name)
	}
	return &Provider{
		Client: client,
		own:    true,
		azure:  &azure{resource: resource, query: "?api-version=" + url.QueryEscape(apiVersion)},
	}, nil
}

// url is where a call goes. Responses name their deployment in the body only.
func (a *azure) url(call provider.Call) string {
	path := strings.TrimPrefix(string(call.Endpoint), "/v1")
	if call.Endpoint != penstock.EndpointResponses {
		path = "/deployments/" + url.PathEscape(call.UpstreamModel) + path
	}
	return a.resource + "/openai" + path + a.query
}
