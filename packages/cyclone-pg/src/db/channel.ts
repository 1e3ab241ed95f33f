import { createHash } from "node:crypto";

/** The LISTEN channel of a schema: a hash, so that any schema name fits. */
export function channelOf(schema: string): string {
  return `cyclone_${createHash("sha256").update(schema).digest("hex").slice(0, 24)}`;
}
