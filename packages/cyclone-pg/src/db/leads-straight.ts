import type { ClientBase } from "pg";

/**
 * Whether a connection leads straight to the server's session with this process id. A pooler tells its clients one of its own making.
 * `undefined`: the driver doesn't say.
 */
export function leadsStraight(client: ClientBase, serverPid: number | undefined): boolean | undefined {
  const { processID } = client as { readonly processID?: number | null };
  return typeof processID === "number" && serverPid !== undefined ? processID === serverPid : undefined;
}
