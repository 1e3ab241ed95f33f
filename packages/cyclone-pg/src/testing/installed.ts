import type { Pool } from "pg";
import { Installation } from "../client/installation.ts";
import { channelOf } from "../db/channel.ts";
import { execute } from "../db/execute.ts";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { notify } from "../sql/notify/notify.ts";
import { tablesOf } from "../sql/tables.ts";

/** The tables of a test's database. */
export class Installed {
  readonly run: RunStatement;
  readonly #schema: string;
  readonly #installation: Installation;

  constructor(pool: Pool, schema: string) {
    const tables = tablesOf(schema);
    this.run = (statement, params) => execute(pool, tables, statement, params);
    this.#schema = schema;
    this.#installation = new Installation({ runPlainly: this.run, told: (work) => work }, schema);
  }

  bucketCount(): Promise<number> {
    return this.#installation.bucketCount();
  }

  async buckets(): Promise<number[]> {
    return Array.from({ length: await this.bucketCount() }, (_, bucket) => bucket);
  }

  /** Wakes workers that listen. */
  async notifyWork(): Promise<void> {
    await this.run(notify, { channel: channelOf(this.#schema), payloads: ["work"] });
  }
}
