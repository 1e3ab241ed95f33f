import type { Client } from "pg";
import { newClient } from "../db/connection-source.ts";
import { endWithin } from "../db/session.ts";

const END_LIMIT_MS = 1_000;

/** Runs `work` on a connection of its own, which is closed at the end in any case. */
export async function asAdmin<T>(url: string, work: (session: Client) => Promise<T>): Promise<T> {
  const session = newClient({ connectionString: url }, "cyclone testing");
  await session.connect();
  try {
    return await work(session);
  } finally {
    await endWithin(session, END_LIMIT_MS);
  }
}

/** The URL of another database of a server. */
export function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}
