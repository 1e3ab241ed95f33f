import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import type { DefinitionRuntime } from "./definition.ts";
import type { Run } from "./run.ts";
import type { StartManyOptions, StartOptions } from "./start-options.ts";

/** A client carries what definitions call of it under this key; registered, so that copies of the package know each other's. */
export const CLIENT_PORT: unique symbol = Symbol.for("cyclone-pg.client-port");

/** What `submit` and `enqueue` call. */
export interface ClientPort {
  start(definition: DefinitionRuntime, input: unknown, options: StartOptions | undefined): Promise<Run<unknown>>;
  startMany(
    definition: DefinitionRuntime,
    inputs: readonly unknown[],
    options: StartManyOptions<unknown> | undefined,
  ): Promise<Run<unknown>[]>;
}

/** All that a definition needs of a client, so that the builder knows no database. */
export interface ClientLike {
  /** @internal */
  readonly [CLIENT_PORT]: ClientPort;
}

/** @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) if it isn't a client */
export function portOf(client: unknown, what: string): ClientPort {
  const port = typeof client === "object" && client !== null ? (client as Partial<ClientLike>)[CLIENT_PORT] : undefined;
  if (port !== undefined) return port;
  throw new InvalidOptionError("client", `${what} takes the client first: pass what createClient returned.`);
}
