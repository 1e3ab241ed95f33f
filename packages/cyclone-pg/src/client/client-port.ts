import type { ClientPort } from "../builder/client-port.ts";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";
import { checkKey } from "../model/names.ts";
import { resolveStart } from "./resolve-start.ts";
import { RunHandle, type RunReader } from "./run-handle.ts";
import type { Starter } from "./start-runs.ts";

export interface ClientPortOptions {
  readonly starter: Starter;
  readonly reader: () => RunReader;
  /** @throws ClientStoppedError (`CYCLONE_CLIENT_STOPPED`) */
  readonly refuseWhenStopped: () => void;
}

/** What definitions start runs by. */
export function clientPort({ starter, reader, refuseWhenStopped }: ClientPortOptions): ClientPort {
  return {
    start: async (definition, input, options = {}) => {
      refuseWhenStopped();
      const resolved = resolveStart(options, `the options of ${definition.kind} "${definition.name}"`);
      const { idempotencyKey } = options;
      const keyOf = idempotencyKey === undefined ? undefined : () => checkKey(idempotencyKey, "idempotencyKey");
      const [run] = await starter.start(definition, [input], keyOf, resolved);
      return new RunHandle(reader(), run?.id ?? "", run?.existing ?? false, definition);
    },
    startMany: async (definition, inputs, options = {}) => {
      refuseWhenStopped();
      const resolved = resolveStart(options, `the options of ${definition.kind} "${definition.name}"`);
      const { idempotencyKey } = options;
      if (idempotencyKey !== undefined && typeof idempotencyKey !== "function") {
        throw new InvalidOptionError(
          "idempotencyKey",
          "idempotencyKey of many starts must be a function (input, index) => key",
        );
      }
      const keyOf =
        idempotencyKey === undefined
          ? undefined
          : (i: number) => checkKey(idempotencyKey(inputs[i], i), `idempotencyKey of input ${i}`);
      const runs = await starter.start(definition, inputs, keyOf, resolved);
      return runs.map((run) => new RunHandle(reader(), run.id, run.existing, definition));
    },
  };
}
