import { defineStatement } from "../statement.ts";

export interface NotifyParams {
  readonly channel: string;
  /** Constant words, never data: their size doesn't depend on what happened. */
  readonly payloads: readonly string[];
}

/** Wakes up whoever listens. Only a wake-up: everything also works by polling. As text: Prisma can't read a column of type void. */
export const notify = defineStatement<NotifyParams, { notified: string }>({
  name: "notify",
  text: () => `
select pg_notify($1, p)::text as notified
from unnest($2::text[]) p`,
  params: (p) => [p.channel, p.payloads],
  sample: { channel: "cyclone", payloads: ["work"] },
});
