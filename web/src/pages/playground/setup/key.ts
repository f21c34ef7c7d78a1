let made = 0;

/** A key for React, unique on this page. */
export function newKey(): string {
  made++;
  return `k${made}`;
}
