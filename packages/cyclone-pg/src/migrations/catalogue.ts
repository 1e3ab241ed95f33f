import type { Tables } from "../sql/tables.ts";
import { initial } from "./0001-initial.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: (tables: Tables, bucketCount: number) => string;
}

/** All migrations, in order. A released one is never edited: the next one mends it. */
export const migrations: readonly Migration[] = [{ version: 1, name: "initial", text: initial }];

/** The version that this code was written for. */
export const schemaVersion: number = migrations.length;
