/** The reasons for which the server leads a browser back to this page. */
const reasons: Record<string, string> = {
  invalid_key:
    "The sign-in was not finished: the identity provider refused it, it took too long, or it began in another browser. Sign in again.",
  scope_missing: "You have no role here. Ask an administrator to grant a role to your e-mail address.",
  upstream_error: "The identity provider cannot be reached. Try again soon.",
  not_found: "This identity provider is not known here. Choose one below.",
  rate_limited: "Too many sign-ins failed. Wait a minute, then sign in again.",
};

/** The text of a failed sign-in. Anybody can write the address of this page, so only known codes and ids become text. */
export function failureOf(code: string, requestId: string | undefined): string {
  const reason = (Object.hasOwn(reasons, code) ? reasons[code] : undefined) ?? "The sign-in failed. Sign in again.";
  return /^req_[0-9A-Z]{26}$/.test(requestId ?? "") ? `${reason} Request ${requestId}.` : reason;
}
