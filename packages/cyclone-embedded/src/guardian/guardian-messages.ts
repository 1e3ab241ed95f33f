import type { ServerHome } from "../server/server-home.ts";

/** What the starting process wants; the guardian's only argument, as JSON. */
export interface GuardianOrder {
  readonly dataDir: string | null;
  readonly port: number | null;
  readonly durable: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

/** A server that has to be given back, by its guardian or, where that was killed, by the starting process. */
export interface HeldServer {
  readonly home: ServerHome;
  /** The folder of its programs. */
  readonly native: string;
  readonly guardianPid: number;
}

/** One line of JSON on the guardian's standard output. */
export type GuardianMessage =
  | { readonly kind: "progress"; readonly message: string }
  | { readonly kind: "ready"; readonly port: number; readonly kept: boolean; readonly held: HeldServer }
  | { readonly kind: "failed"; readonly message: string; readonly log?: string | undefined };
