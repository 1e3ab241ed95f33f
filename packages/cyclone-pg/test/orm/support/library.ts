import type { CompletionTx, Queryable } from "../../../src/index.ts";

/** An open transaction of a library's. */
export interface OpenTransaction {
  /** As the option `tx` takes it. */
  readonly tx: Queryable;
  insertOrder(id: string): Promise<unknown>;
  /** Runs a statement by the library's means for plain SQL. */
  run(text: string): Promise<unknown>;
  /** Runs `work` in a transaction within this one, which rolls back if it throws. */
  nested<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T>;
}

/** A library connected to the database. */
export interface Library {
  /** Runs `work` in a transaction of the library's, which rolls back if it throws. */
  transaction<T>(work: (open: OpenTransaction) => Promise<T>, isolation?: "repeatable read"): Promise<T>;
  /** How a database error with this SQLSTATE looks when it comes from the library. */
  error(sqlState: string): object;
}

/** A library bound to a completionTx. */
export interface BoundLibrary {
  insertOrder(id: string): Promise<unknown>;
  /** Runs a statement by the library's means for plain SQL. */
  run(text: string): Promise<unknown>;
  /** The library's own transaction, which rolls back if `work` throws. */
  transaction<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T>;
}

export type Bind = (tx: CompletionTx) => BoundLibrary;
