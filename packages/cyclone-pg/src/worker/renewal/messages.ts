import type { PoolConfig } from "pg";
import type { Lease } from "../../engine/lease.ts";

/** A lease under the number by which the main loop and the renewal thread speak of it. */
export interface NumberedLease extends Lease {
  readonly id: number;
}

/** What the renewal thread is started with. */
export interface RenewalSetup {
  readonly config: PoolConfig;
  /** The main loop has a function that gives the password; the thread asks for each connection. */
  readonly asksForPassword: boolean;
  readonly applicationName: string;
  readonly schema: string;
  readonly leaseMs: number;
  readonly maxBlockedMs: number;
  /** One 64-bit integer: when the main loop last ran, in nanoseconds of the monotonic clock. */
  readonly beat: SharedArrayBuffer;
}

export type ToRenewal =
  | { readonly kind: "add"; readonly leases: readonly NumberedLease[] }
  | { readonly kind: "remove"; readonly ids: readonly number[] }
  | { readonly kind: "progress"; readonly id: number; readonly fraction: number; readonly message: string | null }
  | { readonly kind: "renew" }
  | { readonly kind: "password"; readonly password: string }
  | { readonly kind: "no-password"; readonly message: string }
  | { readonly kind: "stop" };

export type FromRenewal =
  | { readonly kind: "connected" }
  | { readonly kind: "failed"; readonly message: string; readonly code: string | undefined }
  | { readonly kind: "lost"; readonly ids: readonly number[]; readonly blocked: boolean }
  | { readonly kind: "ask-password" }
  | { readonly kind: "stopped" };
