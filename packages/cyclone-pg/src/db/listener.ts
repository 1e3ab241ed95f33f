import { randomUUID } from "node:crypto";
import type pg from "pg";
import { leadsStraight } from "./leads-straight.ts";
import { destroy, endWithin } from "./session.ts";
import { within } from "./within.ts";

export interface ListenerOptions {
  readonly newClient: () => pg.Client;
  readonly channel: string;
  /** A deaf or half-open connection is found within this time: two thirds between probes, one third for the answer. */
  readonly foundWithinMs: number;
  /** Sends a payload to the channel, over another connection. */
  readonly notify: (payload: string) => Promise<unknown>;
  readonly onNotification: (payload: string) => void;
  /** After each (re)connection: what was missed meanwhile has to be looked for. */
  readonly onListening: () => void;
  /** Once per outage. */
  readonly onDown: (error: unknown) => void;
}

const PROBE_ANSWER_MIN_MS = 500;
const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 15_000;

/**
 * A connection that listens, and comes back by itself. It is sent a notification now and then: behind a pooler in
 * transaction mode LISTEN succeeds and stays silent, and only a missing probe tells. There the probe is sent over another connection: one that
 * it sends itself comes back by luck, as long as the pooler lends it the same connection to the server each time.
 */
export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #behindPooler = false;
  #probe: { word: string; heard: () => void } | undefined;
  #failures = 0;
  #closed = false;
  #connecting: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Whether notifications were heard at the last probe. */
  get listening(): boolean {
    return this.#client !== undefined && this.#failures === 0;
  }

  /** Starts; resolves after the first try, whether it succeeded or not. */
  async start(): Promise<void> {
    await this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#connecting;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    this.#probe?.heard();
    if (client === undefined) return;
    await endWithin(client, 1_000);
  }

  #connect(): Promise<void> {
    this.#connecting ??= this.#tryToConnect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #tryToConnect(): Promise<void> {
    if (this.#closed) return;
    let client: pg.Client;
    try {
      client = this.#options.newClient();
    } catch (error) {
      return this.#fail(error); // an address that can't be used: the certificate's file is missing, say
    }
    try {
      await within(this.#answerMs, client.connect());
      client.on("notification", (message) => this.#hear(message.payload ?? ""));
      await within(this.#answerMs, client.query(`/* cyclone:listen */ listen ${this.#options.channel}`));
      this.#behindPooler = await within(this.#answerMs, isBehindPooler(client));
      client.on("error", (error) => this.#lose(client, error));
      client.on("end", () => this.#lose(client, new Error("The listening connection ended.")));
      this.#client = client;
      await this.#tryProbe(client);
      if (this.#closed || this.#client !== client) return;
      this.#failures = 0;
      this.#options.onListening();
      this.#later((this.#options.foundWithinMs * 2) / 3, () => this.#checkUp(client));
    } catch (error) {
      destroy(client);
      this.#client = undefined;
      this.#fail(error);
    }
  }

  get #answerMs(): number {
    return Math.max(PROBE_ANSWER_MIN_MS, this.#options.foundWithinMs / 3);
  }

  async #checkUp(client: pg.Client): Promise<void> {
    try {
      await this.#tryProbe(client);
      this.#later((this.#options.foundWithinMs * 2) / 3, () => this.#checkUp(client));
    } catch (error) {
      this.#lose(client, error);
    }
  }

  async #tryProbe(client: pg.Client): Promise<void> {
    const word = `probe:${randomUUID()}`;
    const heard = new Promise<void>((resolve) => {
      this.#probe = { word, heard: resolve };
    });
    try {
      if (this.#behindPooler) {
        // Unsent, it tells nothing.
        const sent = await this.#options.notify(word).then(
          () => true,
          () => false,
        );
        if (sent) await this.#soon(heard);
      } else {
        const sent = client.query("/* cyclone:probe */ select pg_notify($1, $2)", [this.#options.channel, word]);
        await this.#soon(Promise.all([sent, heard]));
      }
    } finally {
      this.#probe = undefined;
    }
  }

  async #soon(heard: Promise<unknown>): Promise<void> {
    let limit: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      limit = setTimeout(
        () => reject(new Error("The listening connection is deaf: is it behind a pooler? Give `directConnection`.")),
        this.#answerMs,
      );
    });
    try {
      await Promise.race([heard, silence]);
    } finally {
      clearTimeout(limit);
    }
  }

  #hear(payload: string): void {
    if (payload === this.#probe?.word) this.#probe.heard();
    else if (!payload.startsWith("probe:")) this.#options.onNotification(payload);
  }

  #lose(client: pg.Client, error: unknown): void {
    if (this.#client !== client || this.#closed) return;
    this.#client = undefined;
    destroy(client);
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    if (this.#failures === 0) this.#options.onDown(error);
    this.#failures += 1;
    const delay = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures, 10)) * (0.5 + Math.random() / 2);
    this.#later(delay, () => this.#connect());
  }

  #later(delayMs: number, run: () => Promise<void>): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => void run(), delayMs);
    this.#timer.unref();
  }
}

async function isBehindPooler(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("/* cyclone:listen */ select pg_backend_pid() as pid");
  return leadsStraight(client, rows[0]?.pid) === false;
}
