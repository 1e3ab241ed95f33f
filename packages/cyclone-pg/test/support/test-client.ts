import { onTestFinished } from "vitest";
import {
  type Client,
  type ClientEvents,
  type ClientOptions,
  createClient,
  type EventName,
  type Logger,
  type Registrable,
} from "../../src/index.ts";
import type { TestDatabase } from "./test-database.ts";

/** What a client logged, line by line. */
export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** A logger that keeps what it is told. */
export function recordingLog(): { readonly log: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: Readonly<Record<string, unknown>>): void =>
      void lines.push({ level, message, fields });
  return { log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

/** A client on a test's database that polls fast and prints nothing; it is stopped when the test ends. */
export function testClient(database: Pick<TestDatabase, "url">, options: Partial<ClientOptions> = {}): Client {
  const client = createClient({
    connection: database.url,
    pollInterval: "50ms",
    log: recordingLog().log,
    ...options,
  });
  onTestFinished(() => client.stop({ timeout: 0 }));
  return client;
}

/** As {@link testClient}, and started. */
export async function testWorker(
  database: Pick<TestDatabase, "url">,
  handlers: readonly Registrable[],
  options: Partial<ClientOptions> = {},
): Promise<Client> {
  const client = testClient(database, { handlers, ...options });
  await client.start();
  return client;
}

/** Gathers a client's events of one kind from now on. */
export function eventsOf<E extends EventName>(client: Client, event: E): ClientEvents[E][] {
  const seen: ClientEvents[E][] = [];
  client.on(event, (payload) => void seen.push(payload));
  return seen;
}
