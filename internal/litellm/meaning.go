package litellm

// meanings are the keys that have a counterpart elsewhere, or that need none.
var meanings = map[string]string{
	"temperature":                    "Penstock forwards what callers send and adds no parameters; let the callers send it",
	"max_tokens":                     "Penstock forwards what callers send and adds no parameters; let the callers send it",
	"max_completion_tokens":          "Penstock forwards what callers send and adds no parameters; let the callers send it",
	"top_p":                          "Penstock forwards what callers send and adds no parameters; let the callers send it",
	"organization":                   "Penstock sends no header OpenAI-Organization; use a key of the project that should pay",
	"extra_headers":                  "Penstock sends no headers of the configuration upstream",
	"num_retries":                    "Penstock retries by its own table of errors, and items of jobs until their deadline; nothing is to be set",
	"max_retries":                    "Penstock retries by its own table of errors, and items of jobs until their deadline; nothing is to be set",
	"retry_policy":                   "Penstock retries by its own table of errors, and items of jobs until their deadline; nothing is to be set",
	"allowed_fails":                  "Penstock rests a target that fails by itself; nothing is to be set",
	"cooldown_time":                  "Penstock rests a target that fails by itself; nothing is to be set",
	"enable_pre_call_checks":         "Penstock always checks context and capabilities before a call; nothing is to be set",
	"context_window_fallbacks":       "Penstock sends a call that is too long to a target with a larger context_tokens; list such a target in the model",
	"content_policy_fallbacks":       "Penstock does not send a refused text to another target",
	"stream_timeout":                 "set timeouts.first_token and timeouts.idle of the target",
	"drop_params":                    "Penstock forwards parameters unchanged; the upstream refuses those that it does not know",
	"modify_params":                  "Penstock forwards parameters unchanged",
	"success_callback":               "read usage from /metrics, tracing.otlp_endpoint or penstock usage",
	"failure_callback":               "read failures from /metrics, tracing.otlp_endpoint or the log",
	"callbacks":                      "read usage from /metrics, tracing.otlp_endpoint or penstock usage",
	"service_callbacks":              "read usage from /metrics, tracing.otlp_endpoint or penstock usage",
	"set_verbose":                    "set log.level to debug",
	"json_logs":                      "the log is JSON unless log.format is text",
	"database_url":                   "Penstock needs a database of its own; set database to its URL, or leave it out for SQLite",
	"database_connection_pool_limit": "add pool_max_conns to the URL in database",
	"store_model_in_db":              "models are in the file; penstock config reload applies a change",
	"salt_key":                       "Penstock has its own keyset in the data directory",
	"alerting":                       "use the alert rules in deploy/ with Prometheus",
	"alerting_threshold":             "use the alert rules in deploy/ with Prometheus",
	"proxy_batch_write_at":           "Penstock writes usage in the transaction of the call; nothing is to be set",
	"redis_host":                     "Penstock needs no Redis: processes share limits in PostgreSQL",
	"redis_port":                     "Penstock needs no Redis: processes share limits in PostgreSQL",
	"redis_password":                 "Penstock needs no Redis: processes share limits in PostgreSQL",
	"redis_url":                      "Penstock needs no Redis: processes share limits in PostgreSQL",
	"cache_params":                   "Penstock caches exact matches in memory; only ttl is carried",
	"max_budget":                     "set budget of a tenant, or use penstock tenants update --budget",
	"budget_duration":                "set daily_usd, monthly_usd or total_usd in budget of a tenant",
	"max_parallel_requests":          "set limits.concurrency of a tenant",
	"global_max_parallel_requests":   "set limits.concurrency of targets",
	"default_team_settings":          "create tenants for teams, with penstock tenants create",
	"guardrails":                     "Penstock has no guardrails yet",
	"mock_response":                  "use penstock sim as an upstream for tests",
	"tags":                           "callers send tags with their calls",
	"id":                             "targets have names instead",
	"mode":                           "Penstock serves the endpoint that the caller calls",
	"access_groups":                  "set models of a tenant",
	"team_id":                        "create a tenant, and set its models",
	"aws_access_key_id":              "it belongs to models of Bedrock",
	"aws_secret_access_key":          "it belongs to models of Bedrock",
	"aws_region_name":                "it belongs to models of Bedrock",
	"vertex_project":                 "it belongs to models of Vertex AI, for which Penstock has no adapter",
	"vertex_location":                "it belongs to models of Vertex AI, for which Penstock has no adapter",
	"vertex_credentials":             "it belongs to models of Vertex AI, for which Penstock has no adapter",
	"aws_profile_name":               "Penstock signs with an access key: write temporary credentials to files, name them as file:/path, and reload when they change",
	"aws_role_name":                  "Penstock signs with an access key: write temporary credentials to files, name them as file:/path, and reload when they change",
	"aws_session_name":               "Penstock signs with an access key: write temporary credentials to files, name them as file:/path, and reload when they change",
	"aws_web_identity_token":         "Penstock signs with an access key: write temporary credentials to files, name them as file:/path, and reload when they change",
	"aws_sts_endpoint":               "Penstock signs with an access key: write temporary credentials to files, name them as file:/path, and reload when they change",
}

// instead has the advice for models of vendors without an adapter, by prefix.
var instead = map[string]string{
	"vertex_ai":      vertexInstead,
	"vertex_ai_beta": vertexInstead,
}

const vertexInstead = "call Gemini models with kind: gemini and a key of Google AI Studio, and Claude with kind: anthropic or bedrock"

// unknownSetting is said of every other key.
const unknownSetting = "Penstock has no such setting"
