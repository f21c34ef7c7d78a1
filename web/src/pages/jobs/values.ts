export const statuses = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
export const lanes = ["realtime", "standard", "bulk"] as const;
